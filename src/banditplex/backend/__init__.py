"""The few things that take most time, in plain torch, in compiled loops (numba) and in kernels for a GPU (Triton).

Others call the functions below. `choice` is the one place that chooses between their versions.
"""

from banditplex.backend import kernels
from banditplex.backend.common import (
    cross_columns,
    degree_columns,
    find_common,
    list_common,
    other_columns,
    own_columns,
    shared_sums,
    weighted_columns,
)
from banditplex.backend.having import Lists, find_lists
from banditplex.backend.lists import Neighbours, ranges
from banditplex.backend.positions import position_columns
from banditplex.backend.steps import add_losses, descend, loss_ratios
from banditplex.backend.tables import (
    adapt,
    add_listed,
    add_silu,
    add_up,
    add_up_back,
    at_once,
    choose,
    gram,
    multiply,
    take,
    take_layers,
)
from banditplex.backend.terms import (
    NO_WEIGHTS,
    Asked,
    HeadWeights,
    ListedWeights,
    Pass,
    Rows,
    Weights,
    begin_pass,
    compute_terms,
)
from banditplex.backend.walks import enumerate_paths, fill_tables
