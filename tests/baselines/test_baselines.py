"""What every baseline promises: `check_scorer`, no own edge leaks, few edges are enough."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from banditplex.baselines import BASELINES, Heuristic, Katz, Trees
from banditplex.baselines.base import TrainingTable, training_tables
from banditplex.baselines.classifiers import fit_logistic
from banditplex.baselines.columns import StructuralColumns
from banditplex.datasets import load_dataset, planted
from banditplex.evaluation import evaluate, roc_auc, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from banditplex.scorer import LinkScorer
from banditplex.testing import check_scorer
from tests.baselines.small import SIMPLE, SMALL, make
from tests.quick import every, only
from tests.refusals import refuses

SLOW = ("regression", "pooled-trees")
"""Those that take seconds to be checked."""


def random_multiplex(seed, *, directed=False, layers=3, num_nodes=80, density=0.1):
    """Independent edges: nothing can be learnt."""
    rng = np.random.default_rng(seed)
    flags = rng.random((layers, num_nodes, num_nodes)) < density / (1 if directed else 2)
    layer, source, destination = np.nonzero(flags)
    names = np.array(list("abcdef"))[layer]
    return Multiplex.from_edges(source, destination, names, num_nodes=num_nodes, directed=directed, self_loops="drop")


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


@pytest.mark.parametrize("trials", only([1], [1, 2]))
@pytest.mark.parametrize("name", only([name for name in SIMPLE if name not in SLOW][::2], SIMPLE))
def test_each_passes_the_public_checks(name, trials):
    """Scores depend on the pair only, and nothing is predicted in graphs without signal; declared: no own edge."""
    check_scorer(BASELINES[name], trials=trials, **SMALL.get(name, {}))


@pytest.mark.parametrize("name", only(["overlap+union"], ["overlap+union", "katz-union", "svd", "pooled-trees"]))
def test_some_pass_them_with_hidden_pairs(name):
    check_scorer(BASELINES[name], hide="pair", **SMALL.get(name, {}))


@pytest.mark.slow
@pytest.mark.parametrize(("hide", "layers"), [("layer", 3), ("pair", 1)])
def test_columns_of_training_pairs_of_a_random_graph_tell_nothing(hide, layers):
    """Trees that were fitted to four folds of the training pairs have ROC-AUC .5 on the fifth.

    Of several layers, pairs that are edges of none tell something: they are rarer between nodes with many edges.
    """
    found = []
    for seed in range(12 // layers):
        columns = StructuralColumns(random_multiplex(seed, layers=layers), Visibility(hide))
        tables = training_tables(columns, range(layers), seed, StructuralColumns.every, each=1, at_most=999)
        for table in tables.values():
            held = table.fold == 0
            model = Trees(seed=seed)._learn(TrainingTable(*(part[~held] for part in table)))
            found.append(roc_auc(table.label[held], model.decision_function(table.values[held])))
    assert abs(np.mean(found) - 0.5) < 0.05  # 12 layers of some 130 pairs: standard error .015


@pytest.mark.parametrize("name", [name for name in BASELINES if isinstance(BASELINES[name](), Heuristic | Katz)])
def test_known_edges_do_not_see_themselves(name):
    """Exactly: without training, the score of an edge is that of the multiplex without it."""
    for hide in ("layer", "pair"):
        mx = random_multiplex(1, num_nodes=20, density=0.2)
        visibility = Visibility(hide)
        edge = mx.edges("a")[:, 5]
        own = visibility.keys(np.zeros(1, np.int64), edge[None], 20)
        less = mx.keep_edges(~np.isin(visibility.keys(mx.edge_layer, mx.edge_index.T, 20), own))
        assert less.num_edges < mx.num_edges
        seen, unseen = (make(name, hide=hide).fit(each).score_pairs([edge], "a") for each in (mx, less))
        np.testing.assert_allclose(seen, unseen, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "least"), [("overlap+union", 0.8), ("regression", 0.85), ("pooled-trees", 0.85)])
def test_twins_are_found(twins, name, least):
    model = BASELINES[name](hide="layer").fit(twins.train, targets=["a", "a-twin"])
    assert layer_auc(twins, model, ["a", "a-twin"]) > least


def test_regressions_are_those_of_scikit_learn():
    """The strength with the least log loss in three folds is used; columns are standardised, classes balanced."""
    rng = np.random.default_rng(0)
    values, fold = rng.normal(size=(300, 4)) * [1, 3, 0.5, 2] + 1, np.arange(300) % 3
    label = (values @ [1, -0.3, 0, 0.2] + rng.logistic(size=300) > 1.5).astype(np.int64)
    x = (values - values.mean(0)) / values.std(0)
    scores = {}
    for strength in (0.001, 0.1):
        model = LogisticRegression(C=strength, class_weight="balanced", tol=1e-8)
        guess = cross_val_predict(model, x, label, cv=PredefinedSplit(fold), method="predict_proba")[:, 1]
        weight = np.where(label, 0.5 / label.mean(), 0.5 / (1 - label.mean()))
        scores[log_loss(label, guess, sample_weight=weight)] = model.fit(x, label)
    expected = scores[min(scores)].decision_function(x)
    found = fit_logistic(TrainingTable(values, label, fold), (0.001, 0.1)).decision_function(values)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_hidden_pairs_leave_no_overlap(twins):
    scores = BASELINES["overlap"](hide="pair").fit(twins.train).score_pairs(twins.pairs, "a")
    assert not scores.any()


@pytest.mark.parametrize("name", every(2, SIMPLE))
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


def test_evaluate_takes_them():
    mx = random_multiplex(1, num_nodes=30)
    scorers = {name: make(name) for name in ("overlap+union", "pooled-regression")}
    rows = list(evaluate(scorers, mx, hide="layer", trials=1, folds=2, engine="serial", metrics=["roc_auc"]))
    assert {row["method"] for row in rows} == set(scorers)


def test_mistakes_are_refused():
    mx = random_multiplex(1, num_nodes=30)
    with refuses("jacard", "jaccard"):
        BASELINES["jacard"]
    with refuses("Trees", "call fit first", error=NotFittedError):
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


def test_the_page_of_baselines_lists_them_all():
    page = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    listed = {name for cell in cells for name in cell.split(", ")}
    assert {name.removesuffix("-union") for name in BASELINES} <= listed


def test_the_number_of_parameters_is_counted():
    """30 nodes, two layers; structural features have a coefficient each, and a tree with n leaves has 2n - 1 nodes."""
    mx = random_multiplex(0, layers=2, num_nodes=30, density=0.3)
    fitted = {name: make(name, seed=0).fit(mx) for name in SIMPLE}
    assert all(isinstance(model.num_parameters_, int) for model in fitted.values())
    assert {fitted[name].num_parameters_ for name in ("overlap", "katz", "jaccard-union")} == {0}
    assert fitted["svd"].num_parameters_ == 2 * (30 + 30) * 12
    assert fitted["svd-union"].num_parameters_ == (30 + 30) * 12
    columns = fitted["overlap"].columns_
    pooled, every = (function(np.array([[0, 1]]), 0).shape[1] for function in (columns.pooled, columns.every))
    assert fitted["pooled-regression"].num_parameters_ == pooled + 1
    factors = 2 * (30 + 30) * 12  # of the target layer and of the union
    assert fitted["regression"].num_parameters_ == 2 * (every + 2 + 1 + factors)
    trees = fitted["pooled-trees"].model_._predictors
    assert fitted["pooled-trees"].num_parameters_ == sum(2 * tree.get_n_leaf_nodes() - 1 for (tree,) in trees)
