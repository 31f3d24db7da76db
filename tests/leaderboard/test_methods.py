"""Which methods there are, and which settings they try."""

import inspect
from functools import partial
from typing import ClassVar

import pytest

from banditplex.baselines import BASELINES
from banditplex.leaderboard.methods import OURS, QUICK, VARIANTS, MeanOfDraws, Method, choose_methods, find_methods
from banditplex.predictor import LinkPredictor
from tests.refusals import refuses

OURS_NAMES = ["default", "none", "uniform", "exp3+", "all"]
ONE_GRAPH = [
    "common-neighbours", "jaccard", "adamic-adar", "resource-allocation", "preferential-attachment", "katz", "node2vec",
    "seal", "svd", "gnn-bs", "thanos",
]  # fmt: skip
NAMES = [
    *OURS_NAMES, *ONE_GRAPH, *(f"{name}-union" for name in ONE_GRAPH), "mne", "deeplex", "gatne-t", "mean", "attention",
    "ncn-all", "gcn-distmult", "overlap", "overlap+union", "pooled-trees", "regression", "pooled-regression",
    "simple-torch", "complex-torch", "distmult-torch", "rotate-torch",
]  # fmt: skip


def test_the_methods_are_our_variants_and_all_baselines():
    names = list(find_methods())
    assert names == list(dict.fromkeys([*VARIANTS, *BASELINES]))  # our variants come first
    assert not set(NAMES) - set(names)
    assert [method.name for method in find_methods().values() if method.ours] == OURS_NAMES


def test_every_method_is_told_apart():
    abouts = [method.about for method in find_methods().values()]
    assert all(abouts)
    assert len(set(abouts)) == len(abouts)


def test_names_and_groups_are_chosen_in_the_order_given():
    names = [method.name for method in choose_methods(["svd", "ours", "svd"])]
    assert names == ["svd", *OURS_NAMES]
    quick = [method.name for method in choose_methods(["quick"])]
    assert quick == [name for name in QUICK if name in find_methods()]
    assert {OURS, "none", "overlap", "regression"} <= set(quick)
    main = [method.name for method in choose_methods(["main"])]
    assert set(OURS_NAMES) < set(main)
    assert {"seal", "node2vec-union", "complex-torch", "katz", "katz-union"} < set(main)
    assert not {"seal-union", "node2vec", "complex", "rotate"} & set(main)
    with refuses("svdd", "svd"):
        choose_methods(["svdd"])


@pytest.mark.parametrize("name", list(find_methods()))
def test_every_grid_names_parameters_of_its_method(name):
    method = find_methods()[name]
    parameters = inspect.signature(method.make).parameters
    trials = method.trials(10)
    assert trials[0] == {}
    assert len(trials) <= 10
    assert all(setting in parameters for trial in trials for setting in trial)
    assert all(trial not in trials[:index] for index, trial in enumerate(trials))


def make(*, rank=12, union=False):
    return rank, union


def test_a_grid_is_tried_in_full_or_in_part_with_the_defaults_first():
    grid = {"rank": (6, 12), "union": (False, True)}
    every = [{}, {"rank": 6}, {"rank": 6, "union": True}, {"union": True}]
    found = Method("m", make, grid).trials(10)
    assert found[0] == {}
    assert sorted(map(str, found)) == sorted(map(str, every))
    assert Method("m", make, grid).trials(1) == [{}]
    some = Method("m", make, grid).trials(3)
    assert some == Method("m", make, grid).trials(3)  # the same in every process
    assert some[0] == {}
    assert len(some) == 3
    assert all(each in every for each in some)
    assert Method("m", partial(make, rank=6), {"rank": (6, 12)}).trials(10) == [{}, {"rank": 12}]
    assert Method("m", make, [{"rank": 3}, {"rank": 12}, {"rank": 3}]).trials(10) == [{}, {"rank": 3}]


def test_a_baseline_may_declare_its_grid_as_an_attribute_or_a_class_method(monkeypatch):
    class First:
        grid: ClassVar = {"a": (1, 2)}

        def __init__(self, a=1):
            """Store."""

    class Second(First):
        @classmethod
        def grid(cls):
            return [{"a": 5}]

    monkeypatch.setitem(BASELINES, "first", partial(First))
    monkeypatch.setitem(BASELINES, "second", Second)
    methods = find_methods()
    assert methods["first"].trials(10) == [{}, {"a": 2}]
    assert methods["second"].trials(10) == [{}, {"a": 5}]


def test_networks_learn_in_epochs_and_heuristics_do_not():
    methods = find_methods()
    assert all(methods[name].learns_in_epochs for name in (*OURS_NAMES, "seal-union", "mne", "complex-torch"))
    assert not any(methods[name].learns_in_epochs for name in ("overlap", "svd-union", "pooled-trees", "katz"))


def test_the_variants_are_our_learner_with_other_policies():
    methods = find_methods()
    assert methods["default"].make().get_params() == LinkPredictor().get_params()
    for name in ("none", "exp3+", "all"):
        model = methods[name].make(width=16)
        assert (model.policy, model.evidence, model.width) == (name, "drawn", 16)
    uniform = methods["uniform"].make(width=16).set_params(seed=3)
    assert isinstance(uniform, MeanOfDraws)
    assert uniform.get_params() == LinkPredictor(policy="uniform", evidence="drawn", width=16, seed=3).get_params()
