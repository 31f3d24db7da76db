"""Methods to compare with beyond those of the package; `python -m experiments.compare` and `published` know them."""

from functools import partial

from banditplex.baselines.base import BASELINES, add_one_graph
from banditplex.leaderboard.methods import ABOUT
from experiments.rivals.gatne import GATNE
from experiments.rivals.katz import Katz
from experiments.rivals.sampled import SampledGCN


def register() -> None:
    """Add the methods to `BASELINES`, unless this was done before."""
    if "katz" in BASELINES:
        return
    ABOUT["gnn-bs"] = "graph convolutions; a bandit samples neighbours for less variance (Liu et al., NeurIPS 2020)"
    ABOUT["thanos"] = "graph convolutions; a bandit samples neighbours for less error (Zhang et al., NeurIPS 2021)"
    add_one_graph("katz", Katz)
    BASELINES.add("gatne-t", GATNE)
    add_one_graph("gnn-bs", partial(SampledGCN, kind="gnn-bs"))
    add_one_graph("thanos", partial(SampledGCN, kind="thanos", exploration=0.2))
