"""What every baseline promises: no own edge leaks, scores depend on the pair only, few edges are enough."""

import numpy as np
import pytest
from sklearn.base import clone

from banditplex.baselines import BASELINES, Regression, Trees
from banditplex.baselines.base import TrainingTable, training_tables
from banditplex.baselines.features import StructuralFeatures, scaled
from banditplex.datasets import load_dataset, planted
from banditplex.evaluation import evaluate, roc_auc, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from banditplex.scorer import LinkScorer
from tests.refusals import refuses

SIMPLE = [name for name in BASELINES if not hasattr(BASELINES[name](), "epochs")]
"""Methods that are not trained in epochs; the others have tests of their own."""


def random_multiplex(seed, *, directed=False, layers=3, num_nodes=80, density=0.1):
    """Independent edges: nothing can be learnt."""
    rng = np.random.default_rng(seed)
    flags = rng.random((layers, num_nodes, num_nodes)) < density / (1 if directed else 2)
    layer, source, destination = np.nonzero(flags)
    names = np.array(list("abcdef"))[layer]
    return Multiplex.from_edges(source, destination, names, num_nodes=num_nodes, directed=directed, self_loops="drop")


def make(name, **options):
    """A baseline; regression without the choice of C, which takes most of its time."""
    return BASELINES[name](**options, **({"strengths": (0.1,)} if "regression" in name else {}))


@pytest.fixture(scope="module")
def twins():
    return split(load_dataset("twins").subset(["a", "a-twin", "noise-1"]), hide="layer")


def layer_auc(parts, model, layers):
    tests = {layer: parts.test(layer) for layer in layers}
    return np.mean([roc_auc(label, model.score_pairs(pairs, layer)) for layer, (pairs, label) in tests.items()])


@pytest.mark.parametrize("name", BASELINES)
def test_each_is_a_link_scorer_and_can_be_cloned(name):
    model = BASELINES[name](hide="pair", seed=3)
    assert isinstance(model, LinkScorer)
    assert clone(model).get_params() == model.get_params()
    assert (model.hide, model.seed) == ("pair", 3)


@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("hide", ["layer", "pair"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_scores_depend_on_the_pair_only(name, hide, directed):
    """Asked alone, in another order, or among other pairs: known edges and others."""
    mx = random_multiplex(5, directed=directed, num_nodes=30)
    model = make(name, hide=hide).fit(mx)
    rng = np.random.default_rng(0)
    pairs = np.concatenate([mx.edges("a").T[:10], rng.permuted(np.tile(np.arange(30), (10, 1)), axis=1)[:, :2]])
    scores = model.score_pairs(pairs, "a")
    assert np.isfinite(scores).all()
    order = rng.permutation(len(pairs))
    np.testing.assert_allclose(model.score_pairs(pairs[order], "a"), scores[order], atol=1e-9)
    np.testing.assert_allclose(model.score_pairs(pairs[3:4], "a"), scores[3:4], atol=1e-9)
    if not directed:
        np.testing.assert_allclose(model.score_pairs(pairs[:, ::-1], "a"), scores, atol=1e-9)
    assert model.score_pairs([], "a").shape == (0,)


@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_features_of_training_pairs_of_a_random_graph_tell_nothing(hide):
    """Trees that were fitted to four folds of the training pairs have ROC-AUC .5 on the fifth."""
    found = []
    for seed in range(4):
        features = StructuralFeatures(random_multiplex(seed), Visibility(hide))
        tables = training_tables(features, [0, 1, 2], seed, every_feature, each=1, at_most=999)
        for table in tables.values():
            held = table.fold == 0
            model = Trees(seed=seed)._learn(TrainingTable(*(part[~held] for part in table)))
            found.append(roc_auc(table.label[held], model.decision_function(table.values[held])))
    assert abs(np.mean(found) - 0.5) < 0.05  # 12 layers of some 130 pairs: standard error .015


def every_feature(features, pairs, target):
    return scaled(features.every(pairs, target))


@pytest.mark.parametrize("name", ["svd", "regression", "pooled-regression", "trees"])
@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_nothing_is_predicted_in_random_graphs(name, hide):
    found = []
    for seed in range(3):
        parts = split(random_multiplex(seed, num_nodes=60), hide=hide, seed=seed)
        model = make(name, hide=hide, seed=seed).fit(parts.train)
        found.append(layer_auc(parts, model, parts.train.layer_names))
    assert abs(np.mean(found) - 0.5) < 0.07  # 9 layers of some 70 test pairs: standard error .023


@pytest.mark.parametrize("name", ["svd", "svd-union", "adamic-adar", "preferential-attachment", "union-allocation"])
def test_known_edges_do_not_see_themselves(name):
    """In a random graph, known edges score as other pairs do.

    Methods that are fitted to labels are left out: they may remember the edges that they were fitted to.
    """
    found = []
    for seed in range(3):
        mx = random_multiplex(seed, num_nodes=60)
        model = BASELINES[name](hide="layer", seed=seed).fit(mx)
        edges = mx.edges("a").T
        others = Visibility("layer").negative_sampler(mx).draw(np.zeros(len(edges), np.int64), np.random.default_rng(0))
        scores = model.score_pairs(np.concatenate([edges, others]), "a")
        found.append(roc_auc(np.repeat([1, 0], len(edges)), scores))
    assert np.mean(found) < 0.56


@pytest.mark.parametrize(("name", "least"), [("overlap+union", 0.8), ("regression", 0.85), ("trees", 0.85)])
def test_twins_are_found(twins, name, least):
    model = BASELINES[name](hide="layer").fit(twins.train, targets=["a", "a-twin"])
    assert layer_auc(twins, model, ["a", "a-twin"]) > least


def test_hidden_pairs_leave_no_overlap(twins):
    scores = BASELINES["overlap"](hide="pair").fit(twins.train).score_pairs(twins.pairs, "a")
    assert not scores.any()


@pytest.mark.parametrize("name", SIMPLE)
def test_few_edges_are_enough(name):
    """A layer without edges, one with one edge, one with three."""
    mx = Multiplex.from_edges(
        [0, 0, 1, 2, 0, 1, 2, 3, 4, 5], [1, 1, 2, 3, 2, 3, 4, 5, 6, 7], ["one", *["three"] * 3, *["more"] * 6],
        num_nodes=9, layer_names=["none", "one", "three", "more"],
    )  # fmt: skip
    for hide in (None, "pair"):
        model = make(name, hide=hide).fit(mx)
        for layer in mx.layer_names:
            assert np.isfinite(model.score_pairs([[0, 1], [0, 8], [6, 7]], layer)).all()


def test_one_layer_alone():
    mx = planted(1, 0, 0.5, num_nodes=30, edges_per_layer=60)
    for name in SIMPLE:
        assert make(name).fit(mx).score_pairs([[0, 1]], "noise1").shape == (1,)


def test_same_seed_same_scores():
    mx = random_multiplex(1, num_nodes=30)
    for baseline in (Regression, Trees):
        one, two = (baseline(seed=4).fit(mx, targets=["a"]).score_pairs([[0, 1], [2, 3]], "a") for _ in range(2))
        np.testing.assert_array_equal(one, two)


def test_evaluate_takes_them():
    mx = random_multiplex(1, num_nodes=30)
    scorers = {name: make(name) for name in ("overlap+union", "pooled-regression")}
    rows = list(evaluate(scorers, mx, hide="layer", trials=1, folds=2, engine="serial", metrics=["roc_auc"]))
    assert {row["method"] for row in rows} == set(scorers)


def test_mistakes_are_refused():
    mx = random_multiplex(1, num_nodes=30)
    with refuses("jacard", "jaccard"):
        BASELINES["jacard"]
    with refuses("before fit"):
        Trees().score_pairs([[0, 1]], "a")
    model = BASELINES["jaccard"]().fit(mx, targets=["a"])
    with refuses("'b'"):
        model.score_pairs([[0, 1]], "b")
    with refuses("[3, 3]"):
        model.score_pairs([[0, 1], [3, 3]], "a")
    with refuses("'a'"):
        BASELINES["jaccard"]().fit(mx, targets="a")
    with refuses("'everything'"):
        BASELINES["jaccard"](hide="everything").fit(mx)
