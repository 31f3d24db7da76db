"""Regressions beside the networks: against scikit-learn, by hand, and in a model as a whole."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import banditplex as bx
from banditplex.evaluation import roc_auc
from banditplex.nn.ensemble import beside_of, members_of
from banditplex.nn.query import Query
from banditplex.nn.regression import Columns, Regression
from banditplex.nn.spectral import SPECTRAL_FOLDS, fold_of
from banditplex.training import regression
from banditplex.training.config import Config
from banditplex.training.default import make_networks
from banditplex.training.logistic import path
from banditplex.training.regression import (
    LEAST,
    NEGATIVES,
    PENALTIES,
    MemberRegression,
    Used,
    fit_target,
    large_targets,
)  # fmt: skip
from tests.training.stacked import stacked

FAST = {"members": 2, "epochs": 2, "warmup": 0}


@pytest.fixture(scope="module", autouse=True)
def no_vectors():
    with stacked(regression=True, vectors=False):
        yield


@pytest.fixture(scope="module")
def mx():
    """Four random layers of 150 edges; the second has most edges of the first."""
    rng = np.random.default_rng(0)
    every = np.stack(np.triu_indices(40, 1), 1)
    layers = [every[rng.permutation(len(every))[:150]] for _ in range(4)]
    layers[1] = np.unique(np.concatenate([layers[0][:120], layers[1][:30]]), axis=0)
    name = np.repeat([*"abcd"], [len(each) for each in layers])
    return bx.Multiplex.from_edges(*np.concatenate(layers).T, name, num_nodes=40)


@pytest.fixture(scope="module")
def model(mx):
    return bx.LinkPredictor(**FAST).fit(mx)


def random_pairs(size=300, seed=0):
    """Columns of pairs in the target layer and in two others, of which the first of each kind matters, and labels."""
    rng = np.random.default_rng(seed)
    own, other = rng.normal(2, 3, (size, 3)), rng.normal(0, 1, (size, 2, 2))
    label = (rng.random(size) < 1 / (1 + np.exp(-(own[:, 0] - 2) / 9 - other[:, 1, 0] / 3))).astype(np.int64)
    seen = Columns(torch.from_numpy(own).float(), torch.from_numpy(other).float())
    return seen, rng.integers(0, 40, (size, 2)), label


def by_sklearn(x, label, weight, penalty):
    return LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(x, label, sample_weight=weight)


# Fits


def test_fits_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    x, label = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    weight = np.stack([np.ones(200), np.arange(200) % 4 > 0, rng.random(200)])
    given = torch.from_numpy(np.column_stack([x, np.ones(200)]))
    found = path(given.unsqueeze(0), torch.from_numpy(label).double(), torch.from_numpy(weight), PENALTIES)
    for penalty, betas in zip(PENALTIES, found, strict=True):
        for of, beta in zip(weight, betas.numpy(), strict=True):
            expected = by_sklearn(x, label, of, penalty)
            assert beta == pytest.approx(np.append(expected.coef_, expected.intercept_), abs=1e-4)


def test_the_penalty_is_the_one_that_predicts_best():
    seen, pairs, label = random_pairs()
    x = np.column_stack([seen.own, seen.other.flatten(1)]).astype(np.float64)
    x = (x - x.mean(0)) / x.std(0)
    weight = np.where(label > 0, 0.5 / label.mean(), 0.5 / (1 - label.mean()))
    fold, losses = fold_of(torch.from_numpy(pairs), 40).numpy(), []
    for penalty in PENALTIES:
        guess = np.empty(len(label))
        for part in range(SPECTRAL_FOLDS):
            out = fold == part
            rest = by_sklearn(x[~out], label[~out], weight[~out], penalty)
            guess[out] = rest.predict_proba(x[out])[:, 1]
        losses.append(log_loss(label, guess, sample_weight=weight))
    best = by_sklearn(x, label, weight, PENALTIES[int(np.argmin(losses))])
    own, other = fit_target(seen, pairs, label, 40)
    logit = seen.own @ own[:-1] + own[-1] + (seen.other * other).sum((1, 2))
    assert 0 < int(np.argmin(losses)) < len(PENALTIES) - 1  # else the choice says little
    assert logit.numpy() == pytest.approx(best.decision_function(x), abs=1e-3)


def test_edges_that_a_column_tells_apart_have_finite_weights():
    label = np.repeat([1, 0], [40, 120])
    seen = Columns(torch.from_numpy(label).float()[:, None], torch.zeros(160, 0, 2))
    own, other = fit_target(seen, np.random.default_rng(0).integers(0, 30, (160, 2)), label, 30)
    assert torch.isfinite(own).all()
    assert own[0] > 2
    assert other.shape == (0, 2)


# Terms


def test_terms_are_sums_over_columns():
    regression = Regression(3, 2, 2, 1)
    regression.layers[0] = torch.tensor([2, 1])
    regression.own[0] = torch.tensor([1.0, 10.0, 100.0])
    regression.other[0] = torch.tensor([[3.0], [5.0]])  # of layers 2 and 1
    seen = Columns(torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[[7.0], [1.0]], [[1.0], [1.0]]]))
    own, other = regression(seen, torch.tensor([0, 1]), torch.tensor([[1, 2], [0, 2]]))
    assert own.tolist() == [1 + 20 + 100, 0]
    assert other.tolist() == [[35, 3], [0, 0]]  # in whatever order layers come; target 1 has no weights


def test_layers_used_end_where_a_target_uses_fewer():
    used = Used(np.array([[4, 5, 6], [7, 8, 9]]), np.array([2, 0]))
    assert used.table.tolist() == [[4, 5], [-1, -1]]


# In a model


def test_logits_are_terms_of_networks_and_of_the_regression(model, mx):
    fitted, layer = model._fitted, mx.layer_names[1]
    beside, pairs = fitted.model.beside, np.array([[0, 5], [3, 9], [20, 31]])
    alone = [replace(fitted, model=each).logits(pairs, layer) for each in members_of(fitted.model)]
    target, chosen = mx.layer_index(layer), fitted._choose(1, 0)[0]
    asked = torch.from_numpy(pairs), torch.full((3,), target), torch.from_numpy(chosen).expand(3, -1)
    own, other, _ = members_of(fitted.model)[0].describe(fitted.view, Query(*asked))
    regression, linear = beside.regression, []
    for row in range(3):
        total = float(own.values[row] @ regression.own[target, :-1] + regression.own[target, -1])
        for place, number in enumerate(chosen.tolist()):
            at = regression.layers[target].tolist().index(number)
            total += float(other.values[row * len(chosen) + place] @ regression.other[target, at])
        linear.append(total)
    expected = float(beside.factor[target]) * np.mean(alone, axis=0) + linear
    assert model.score_pairs(mx.node_names[pairs], layer) == pytest.approx(expected, abs=1e-4)


def test_terms_add_up_and_saved_models_score_the_same(model, mx, tmp_path):
    layer, pairs = mx.layer_names[2], mx.node_names[[[0, 5], [3, 9], [20, 31]]]
    scores = model.score_pairs(pairs, layer)
    parts = model.explain(pairs, layer).groupby(["source", "destination"], sort=False)["value"].sum()
    assert parts.to_numpy() == pytest.approx(scores, abs=1e-5)
    model.save(tmp_path / "model")
    assert bx.LinkPredictor.load(tmp_path / "model").score_pairs(pairs, layer).tolist() == scores.tolist()


def test_draws_and_single_layers_ask_the_networks_alone(model, mx):
    layer, pairs = mx.layer_names[0], mx.node_names[[[0, 5], [3, 9]]]
    with stacked(regression=False, vectors=False):
        alone = bx.LinkPredictor(**FAST).fit(mx)
    assert model.score_pairs(pairs, layer, draws=3).tolist() == alone.score_pairs(pairs, layer, draws=3).tolist()
    assert model.score_pairs(pairs, layer).tolist() != alone.score_pairs(pairs, layer).tolist()
    free = [pair for pair in pairs.tolist() if not mx.has_edges(mx.node_index(np.array([pair])), layer).any()]
    asked = free, np.zeros(len(free), np.int64), np.ones((len(free), 1), np.int64)
    assert model.score_by_layer(*asked).tolist() == alone.score_by_layer(*asked).tolist()


def test_known_edges_of_a_random_layer_cannot_be_told_from_other_pairs(mx):
    """If a pair's own edge were visible, known edges would be recognised; four standard errors are allowed."""
    alone = mx.subset(layers=["c", "d"])
    regression = bx.LinkPredictor(**FAST).fit(alone)._fitted
    every = np.stack(np.triu_indices(40, 1), 1)
    label = alone.has_edges(every, "c")
    regression.model.beside.factor.zero_()  # what is left is the regression
    size = label.sum(), (~label).sum()
    error = np.sqrt(1 / 12 * (1 / size[0] + 1 / size[1]))
    assert abs(roc_auc(label, regression.logits(every, "c")) - 0.5) < 4 * error


def test_targets_with_few_edges_have_no_regression(mx):
    some = mx.keep_edges((mx.edge_layer != 3) | (np.arange(mx.num_edges) % 10 == 0))
    beside = bx.LinkPredictor(**FAST).fit(some)._fitted.model.beside
    assert not beside.regression.own[3].any()
    assert beside.regression.own[:3].any(1).all()


def test_enough_edges_for_a_regression():
    data = SimpleNamespace(train_edges=SimpleNamespace(size=np.array([LEAST - 1, LEAST, LEAST + 1])))
    assert large_targets(data).tolist() == [1, 2]


def test_targets_have_the_same_regressions_in_two_threads_as_in_one(mx):
    """Layers differ in size, so that they are not fitted in their order."""
    some = mx.keep_edges(np.arange(mx.num_edges) % 150 < 40 + 25 * mx.edge_layer)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(bx.LinkPredictor(**FAST).fit(some)._fitted.model.beside.regression)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0].own, found[1].own)
    assert torch.equal(found[0].other, found[1].other)
    assert found[0].own.any(1).all()


# One regression for all targets of a large multiplex


@pytest.fixture
def large(monkeypatch):
    """What counts as large is small, so that there is one network."""
    monkeypatch.setattr("banditplex.training.config.MANY_EDGES", 100)


def test_the_regression_that_targets_share_is_that_of_scikit_learn(large, mx, monkeypatch):
    given, fit = [], regression.fit_target

    def noted(*arguments):
        given.append(arguments)
        return fit(*arguments)

    monkeypatch.setattr(regression, "fit_target", noted)
    monkeypatch.setattr(regression, "SHARED", 200)
    monkeypatch.setattr(regression, "PENALTIES", (10.0,))
    (only,) = make_networks(mx, None, Config()).trainers
    weights = MemberRegression.fit_shared(
        only.ema_model, only.data, Used.all_of(np.zeros((4, 1), int)), 0
    ).regression.own
    ((seen, pairs, label, _),) = given
    assert (np.bincount(label) == [200 * NEGATIVES, 200]).all()
    edges = np.concatenate([mx.edges(layer) for layer in mx.layer_names], 1).T
    assert np.isin(pairs[label == 1] @ [40, 1], edges @ [40, 1]).all()
    x, scale = seen.own.numpy().astype(np.float64), seen.own.numpy().std(0).clip(0.02)
    weight = np.where(label > 0, 0.5 / label.mean(), 0.5 / (1 - label.mean()))
    expected = by_sklearn((x - x.mean(0)) / scale, label, weight, 10.0)
    assert weights[0, :-1].numpy() * scale == pytest.approx(expected.coef_[0], abs=2e-3)
    assert (weights == weights[0]).all()


def test_a_large_multiplex_has_one_network_and_one_regression(large, mx, tmp_path):
    model, pairs = bx.LinkPredictor().fit(mx), mx.node_names[[[0, 5], [3, 9]]]
    network = model._fitted.model
    assert len(members_of(network)) == 1
    own = network.beside.regression.own
    assert own.any()
    assert (own == own[0]).all()
    model.save(tmp_path / "model")
    again = bx.LinkPredictor.load(tmp_path / "model")
    assert again.score_pairs(pairs, "a").tolist() == model.score_pairs(pairs, "a").tolist()


def test_beyond_many_edges_there_is_no_regression(large, mx, monkeypatch):
    monkeypatch.setattr(regression, "MOST_EXAMPLES", mx.num_edges - 1)
    assert beside_of(bx.LinkPredictor(epochs=50).fit(mx)._fitted.model) is None
