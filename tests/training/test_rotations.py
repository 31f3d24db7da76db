"""Positions that layers turn: by hand, against autograd, and that they never know a pair's own edge."""

import math

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.backend.packing import EdgeTensors
from banditplex.evaluation import roc_auc
from banditplex.nn.relations import MARGIN
from banditplex.nn.rotations import DIMENSION, FOLDS, Folds, Rotations, Vectors
from banditplex.training import rotations as training
from banditplex.training.rotations import NEGATIVES, Examples, by_torch, descent, learn
from tests.training.stacked import stacked

FAST = {"members": 2, "epochs": 2, "warmup": 0}


def random_mx(directed=False, num_nodes=30, seed=0):
    """Three random layers of 150 edges; the second has most edges of the first."""
    rng = np.random.default_rng(seed)
    every = np.stack(np.nonzero(~np.eye(num_nodes, dtype=bool)), 1)
    every = every if directed else every[every[:, 0] < every[:, 1]]
    layers = [every[rng.permutation(len(every))[:150]] for _ in range(3)]
    layers[1] = np.unique(np.concatenate([layers[0][:120], layers[1][:30]]), axis=0)
    name = np.repeat([*"abc"], [len(each) for each in layers])
    return bx.Multiplex.from_edges(*np.concatenate(layers).T, name, num_nodes=num_nodes, directed=directed)


def random_vectors(num_nodes=30, num_layers=3):
    generator = torch.Generator().manual_seed(0)
    sizes = (FOLDS, num_nodes, 2, DIMENSION), (FOLDS, num_layers, DIMENSION)
    return Vectors(*(torch.randn(size, generator=generator) / 5 for size in sizes))


def every_pair(num_nodes, layer):
    pairs = torch.cartesian_prod(torch.arange(num_nodes), torch.arange(num_nodes))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs, torch.full((len(pairs),), layer)


# Scores


def test_a_score_is_the_margin_minus_distances_after_a_turn():
    vectors = random_vectors()
    fold, u, v, layer = 3, 7, 11, 2
    x, y = (vectors.node[fold, each, 0].numpy() + 1j * vectors.node[fold, each, 1].numpy() for each in (u, v))
    expected = MARGIN - np.abs(x * np.exp(1j * vectors.angle[fold, layer].numpy()) - y).sum()
    found = vectors.score(*(torch.tensor([each]) for each in (fold, u, v, layer)))
    assert float(found) == pytest.approx(expected, abs=1e-4)


def test_scores_of_lists_are_the_same_compiled_and_in_parts(monkeypatch):
    vectors, generator = random_vectors(), torch.Generator().manual_seed(1)
    asked = [torch.randint(size, (500,), generator=generator) for size in (FOLDS, 30, 30, 3)]
    expected = vectors.score(*asked).tolist()
    assert vectors.score_only(*asked).tolist() == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr("banditplex.backend.choice.NUMBA", False)
    monkeypatch.setattr("banditplex.nn.rotations.CHUNK", 200)
    assert vectors.score_only(*asked).tolist() == pytest.approx(expected, abs=1e-5)
    assert vectors.score_only(*(each[:0] for each in asked)).shape == (0,)


@torch.no_grad()
@pytest.mark.parametrize("directed", [False, True])
def test_a_term_is_the_mean_over_sets_of_the_vectors_of_the_pair_s_fold(directed):
    rotations = Rotations(2, 30, 3, directed=directed, everywhere=False)
    for number in range(2):
        rotations.node[number], rotations.angle[number] = (each + number / 20 for each in random_vectors())
    rotations.factor[1], rotations.usual[1] = 0.5, 2.0
    pairs, target, total = torch.tensor([[4, 9]]), torch.tensor([1]), []
    for number in range(2):
        vectors, at = Vectors(rotations.node[number], rotations.angle[number]), rotations.folds(number)
        u, v = pairs.T
        fold = at.of(u, v, target)
        one, other = vectors.score(fold, u, v, target), vectors.score(fold, v, u, target)
        total.append(float(one if directed else (one + other) / 2))
    assert float(rotations(pairs, target)) == pytest.approx(0.5 * (np.mean(total) - 2), abs=1e-5)


def test_nodes_of_another_graph_have_the_vectors_of_the_same_nodes():
    rotations = Rotations(1, 30, 3, directed=True, everywhere=False)
    with torch.no_grad():
        rotations.node[0], rotations.angle[0] = random_vectors()
    rotations.factor[:] = 1
    pairs, target = torch.tensor([[4, 9], [0, 2]]), torch.tensor([1, 2])
    expected = rotations(pairs, target).tolist()
    place = torch.full((40,), -1)
    place[[10, 20, 30, 35]] = torch.tensor([4, 9, 0, 2])
    moved = rotations.in_graph(place)
    assert moved(torch.tensor([[10, 20], [30, 35]]), target).tolist() == expected
    assert moved(torch.tensor([[10, 21], [21, 35]]), target).tolist() == [0, 0]  # node 21 is new
    assert rotations(pairs, target).tolist() == expected  # as before
    again = moved.in_graph(torch.tensor([10, 20, -1, 21]))  # a graph whose nodes are those of the other graph
    assert again(torch.tensor([[0, 1], [0, 2]]), target).tolist() == [expected[0], 0]


# Folds


def test_folds_hide_both_directions_and_all_layers_where_pairs_are_hidden_everywhere():
    pairs, _ = every_pair(20, 0)
    u, v = pairs.T
    by_layer = [Folds(20, False, 1).of(u, v, torch.full_like(u, layer)) for layer in range(3)]
    assert (by_layer[0] == Folds(20, False, 1).of(v, u, torch.zeros_like(u))).all()
    assert (by_layer[0] != by_layer[1]).float().mean() > 0.8  # 7 of 8
    assert torch.bincount(by_layer[2], minlength=FOLDS).min() > 0
    everywhere = [Folds(20, True, 1).of(u, v, torch.full_like(u, layer)) for layer in range(3)]
    assert (everywhere[0] == everywhere[1]).all()
    assert (Folds(20, True, 2).of(u, v, torch.zeros_like(u)) != everywhere[0]).any()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("everywhere", [False, True])
def test_vectors_of_a_fold_do_not_depend_on_its_edges_to_the_last_bit(directed, everywhere, monkeypatch):
    monkeypatch.setattr(training, "STEPS", 5)
    monkeypatch.setattr(training, "BATCH", 100)  # so that edges are drawn
    mx, folds = random_mx(directed), Folds(30, everywhere, 0)
    ends, layer = (torch.from_numpy(np.array(each)) for each in (mx.edge_index, mx.edge_layer))
    fold = folds.of(ends[0], ends[1], layer)
    every = learn(EdgeTensors.of(mx, "cpu"), folds, 5)
    for number in (0, 3):
        out = (fold == number).numpy()
        assert out.any()
        some = learn(EdgeTensors.of(mx.keep_edges(~out), "cpu"), folds, 5)
        assert torch.equal(every.node[number], some.node[number])
        assert torch.equal(every.angle[number], some.angle[number])
        assert not torch.equal(every.node[number - 1], some.node[number - 1])


# Learning


@pytest.mark.parametrize("directed", [False, True])
def test_what_a_step_learns_from(directed):
    mx, folds = random_mx(directed), Folds(30, False, 0)
    drawn = Examples(EdgeTensors.of(mx, "cpu"), folds).draw(7)
    known = {(layer, *ends) for layer, ends in zip(mx.edge_layer.tolist(), mx.edge_index.T.tolist(), strict=True)}
    if not directed:
        known |= {(layer, v, u) for layer, u, v in known}
    of = [folds.of(*(torch.tensor(each) for each in (u, v, layer))).item() for layer, u, v in sorted(known)]
    expected = {
        (fold, *edge) for edge, own in zip(sorted(known), of, strict=True) for fold in range(FOLDS) if fold != own
    }
    rows = torch.stack([drawn.fold, drawn.layer, drawn.source[:, 0], drawn.destination[:, 0]], 1)
    assert {tuple(row) for row in rows.tolist()} == expected  # all, as there are fewer than fit into a step
    assert len(rows) == len(expected)
    fold, layer = (each.unsqueeze(1).expand(-1, NEGATIVES) for each in drawn[:2])
    u, v, used = drawn.source[:, 1:], drawn.destination[:, 1:], drawn.weight > 0
    own = folds.of(u, v, layer)
    for row in torch.stack([layer, u, v, own, fold, used.long()], -1).flatten(0, 1).tolist():
        left_out = tuple(row[:3]) in known or row[1] == row[2] or row[3] == row[4]
        assert left_out == (not row[5])
    count = used.sum(1)
    assert drawn.weight.sum(1)[count > 0] == pytest.approx(1)
    assert (count == 0).any()
    assert (count == NEGATIVES).any()


def test_edges_of_a_step_are_about_as_many_as_asked_for(monkeypatch):
    monkeypatch.setattr(training, "BATCH", 100)
    examples = Examples(EdgeTensors.of(random_mx(), "cpu"), Folds(30, False, 0))
    sizes = torch.stack([torch.bincount(examples.draw(seed).fold, minlength=FOLDS) for seed in range(40)]).float()
    assert sizes.mean() == pytest.approx(100, abs=4 * 10 / math.sqrt(40 * FOLDS))
    assert sizes.std() > 5  # another draw in each step


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_compiled_draws_are_the_same_to_the_bit(directed, everywhere, monkeypatch):
    """Not every edge is drawn: a fold has 50 of some 400."""
    monkeypatch.setattr(training, "BATCH", 50)
    examples = Examples(EdgeTensors.of(random_mx(directed), "cpu"), Folds(30, everywhere, 5))
    found = [examples.draw(seed) for seed in (3, 2**61 + 7)]
    monkeypatch.setattr("banditplex.backend.choice.NUMBA", False)
    for seed, drawn in zip((3, 2**61 + 7), found, strict=True):
        for one, other in zip(drawn, examples.draw(seed), strict=True):
            assert one.dtype == other.dtype
            assert torch.equal(one, other)


def test_compiled_gradients_are_those_of_autograd():
    vectors, drawn = random_vectors(), Examples(EdgeTensors.of(random_mx(), "cpu"), Folds(30, False, 0)).draw(3)
    for found, expected in zip(descent(vectors, drawn), by_torch(vectors, drawn), strict=True):
        assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-3 * float(expected.abs().max()))


def test_a_second_layer_with_the_same_edges_is_learnt():
    """Pairs linked in the first layer score higher in the second, where no vectors of their fold know their edge."""
    mx, folds = random_mx(), Folds(30, False, 0)
    rotations = Rotations(1, 30, 3, directed=False, everywhere=False)
    with torch.no_grad():
        rotations.node[0], rotations.angle[0] = learn(EdgeTensors.of(mx, "cpu"), folds, 0)
        pairs, target = every_pair(30, 1)
        score = rotations.score(pairs, target).numpy()
    assert roc_auc(mx.has_edges(pairs.numpy(), "a"), score) > 0.75


@pytest.mark.parametrize("everywhere", [False, True])
def test_known_edges_of_a_random_layer_cannot_be_told_from_other_pairs(everywhere):
    """If a pair's own edge were known, AUC would be far above .5; four standard errors are allowed."""
    rng = np.random.default_rng(1)
    every = np.stack(np.triu_indices(60, 1), 1)
    mx = bx.Multiplex.from_edges(*every[rng.permutation(len(every))[:500]].T, ["a"] * 500, num_nodes=60)
    rotations = Rotations(1, 60, 1, directed=False, everywhere=everywhere)
    with torch.no_grad():
        rotations.node[0], rotations.angle[0] = learn(EdgeTensors.of(mx, "cpu"), Folds(60, everywhere, 0), 0)
        pairs = torch.from_numpy(every)
        score = rotations.score(pairs, torch.zeros(len(pairs), dtype=torch.int64)).numpy()
    label = mx.has_edges(every, "a")
    error = math.sqrt(1 / 12 * (1 / label.sum() + 1 / (~label).sum()))
    assert abs(roc_auc(label, score) - 0.5) < 4 * error


# In a model


@pytest.fixture(scope="module")
def mx():
    return random_mx()


@pytest.fixture(scope="module")
def few_steps():
    """Learn vectors in a quarter of the time: what is tested here is what becomes of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "STEPS", 15)
        yield


@pytest.fixture(scope="module")
def model(mx, few_steps):
    with stacked(regression=False, rotations=True):
        return bx.LinkPredictor(**FAST).fit(mx)


def test_rotations_are_a_part_of_the_logit(model, mx):
    with stacked(regression=False, rotations=False):
        alone = bx.LinkPredictor(**FAST).fit(mx)
    beside, pairs = model._fitted.model.beside, np.array([[0, 5], [3, 9], [20, 28]])
    term = beside.rotations(torch.from_numpy(pairs), torch.ones(3, dtype=torch.int64)).detach().numpy()
    expected = float(beside.factor[1]) * alone.score_pairs(mx.node_names[pairs], "b") + term
    assert beside.rotations.factor[1] > 0
    assert model.score_pairs(mx.node_names[pairs], "b") == pytest.approx(expected, abs=1e-5)
    assert model.num_parameters_ == alone.num_parameters_ + 2 * FOLDS * DIMENSION * (30 * 2 + 3)


def test_terms_add_up_and_saved_models_score_the_same(model, mx, tmp_path):
    pairs = mx.node_names[[[0, 5], [3, 9], [20, 28]]]
    scores = model.score_pairs(pairs, "b")
    parts = model.explain(pairs, "b").groupby(["source", "destination"], sort=False)["value"].sum()
    assert parts.to_numpy() == pytest.approx(scores, abs=1e-5)
    model.save(tmp_path / "model")
    assert bx.LinkPredictor.load(tmp_path / "model").score_pairs(pairs, "b").tolist() == scores.tolist()


def test_a_context_may_have_other_nodes(model, mx):
    edges = mx.to_pandas()
    other = bx.Multiplex.from_edges(
        np.append(edges["source"], 99), np.append(edges["destination"], 0), np.append(edges["layer"], "a")
    )
    fitted = model._fitted
    moved = fitted.within(other)
    pairs = np.array([[0, 5], [3, 9]])
    target = torch.zeros(2, dtype=torch.int64)
    here = fitted.model.beside.rotations(torch.from_numpy(pairs), target)
    there = torch.from_numpy(other.node_index(mx.node_names[pairs]))
    assert torch.equal(moved.model.beside.rotations(there, target), here)
    new = torch.from_numpy(other.node_index(np.array([[99, 3], [4, 99]])))
    assert moved.model.beside.rotations(new, target).tolist() == [0, 0]
    assert np.isfinite(model.score_pairs([[99, 3]], "a", context=other)).all()


def test_rotations_that_count_nothing_are_left_out(mx, few_steps, monkeypatch, tmp_path):
    factors = np.array([[1.0] * 3, [0.5] * 3, [0.0] * 3])
    monkeypatch.setattr("banditplex.training.stacking.weigh", lambda parts, instances: factors)
    beside = bx.LinkPredictor(**FAST).fit(mx)._fitted.model.beside
    assert beside.rotations is None
    assert beside.regression.own.any()
    monkeypatch.setattr("banditplex.training.stacking.weigh", lambda parts, instances: factors[::2])
    with stacked(regression=False, rotations=True):
        alone = bx.LinkPredictor(**FAST).fit(mx)
    assert alone._fitted.model.beside is None
    alone.save(tmp_path / "model")
    pairs = mx.node_names[[[0, 5]]]
    assert bx.LinkPredictor.load(tmp_path / "model").score_pairs(pairs, "b") == alone.score_pairs(pairs, "b")


def test_where_negatives_are_given_there_are_no_rotations(mx):
    pairs, _ = every_pair(30, 0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]].numpy()
    negatives = {"a": mx.node_names[pairs[~mx.has_edges(pairs, "a")][:100]]}
    model = bx.LinkPredictor(**FAST).fit(mx, ["a"], negatives=negatives)
    assert model._fitted.model.beside.rotations is None


def test_large_multiplexes_have_no_rotations(mx, monkeypatch):
    monkeypatch.setattr(training, "MOST_NODES", 29)
    model = bx.LinkPredictor(**FAST).fit(mx)
    assert model._fitted.model.beside.rotations is None
    assert model._fitted.model.beside.regression is not None


def test_a_model_is_the_same_in_both_ways_to_compute_gradients(model, mx, monkeypatch):
    monkeypatch.setattr(training, "descent", by_torch)
    pairs = mx.node_names[[[0, 5], [3, 9], [20, 28]]]
    with stacked(regression=False, rotations=True):
        plain = bx.LinkPredictor(**FAST).fit(mx).score_pairs(pairs, "b")
    assert model.score_pairs(pairs, "b") == pytest.approx(plain, abs=1e-3)
