"""Methods to compare with beyond those of the package; `python -m experiments.compare` and `published` know them."""

from functools import partial

from banditplex.baselines.base import BASELINES, add_one_graph
from experiments.rivals.gatne import GATNE
from experiments.rivals.katz import Katz
from experiments.rivals.sampled import SampledGCN


def register() -> None:
    """Add the methods to `BASELINES`, unless this was done before."""
    if "katz" in BASELINES:
        return
    add_one_graph("katz", Katz)
    BASELINES.add("gatne-t", GATNE)
    add_one_graph("gnn-bs", partial(SampledGCN, kind="gnn-bs"))
    add_one_graph("thanos", partial(SampledGCN, kind="thanos", exploration=0.2))
