"""The few things that take most time, in plain torch, in compiled loops (numba) and in kernels for a GPU (Triton).

Others call the functions below. `choice` is the one place that chooses between their versions.
"""

from banditplex.backend import kernels as kernels
from banditplex.backend.common import add_shared as add_shared
from banditplex.backend.common import cross_columns as cross_columns
from banditplex.backend.common import degree_columns as degree_columns
from banditplex.backend.common import find_common as find_common
from banditplex.backend.common import other_columns as other_columns
from banditplex.backend.common import shared_sums as shared_sums
from banditplex.backend.common import weighted_sums as weighted_sums
from banditplex.backend.having import Lists as Lists
from banditplex.backend.having import find_lists as find_lists
from banditplex.backend.lists import Neighbours as Neighbours
from banditplex.backend.lists import ranges as ranges
from banditplex.backend.steps import add_losses as add_losses
from banditplex.backend.steps import descend as descend
from banditplex.backend.steps import lay_out as lay_out
from banditplex.backend.steps import loss_ratios as loss_ratios
from banditplex.backend.tables import adapt as adapt
from banditplex.backend.tables import add_up as add_up
from banditplex.backend.tables import add_up_back as add_up_back
from banditplex.backend.tables import at_once as at_once
from banditplex.backend.tables import choose as choose
from banditplex.backend.tables import gram as gram
from banditplex.backend.tables import multiply as multiply
from banditplex.backend.tables import take as take
from banditplex.backend.terms import NO_WEIGHTS as NO_WEIGHTS
from banditplex.backend.terms import Asked as Asked
from banditplex.backend.terms import HeadWeights as HeadWeights
from banditplex.backend.terms import ListedWeights as ListedWeights
from banditplex.backend.terms import Pass as Pass
from banditplex.backend.terms import Rows as Rows
from banditplex.backend.terms import Weights as Weights
from banditplex.backend.terms import begin_pass as begin_pass
from banditplex.backend.terms import compute_terms as compute_terms
from banditplex.backend.walks import enumerate_paths as enumerate_paths
from banditplex.backend.walks import fill_tables as fill_tables
