"""Vectors of nodes and layers: by hand, against autograd, and that they never know a pair's own edge."""

import math

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.backend.packing import EdgeTensors
from banditplex.evaluation import roc_auc
from banditplex.nn import vectors as scoring
from banditplex.nn.panels import Panels
from banditplex.nn.vectors import (
    DIMENSION,
    FOLDS,
    FOLDS_ALONE,
    FOLDS_LONG,
    SETS,
    Folds,
    Vectors,
    shape_of,
)
from banditplex.pairs.visibility import Visibility
from banditplex.training import vectors as training
from banditplex.training.config import Config
from banditplex.training.data import prepare
from banditplex.training.descent import Step, descent
from banditplex.training.threads import run_to_end
from banditplex.training.vectors import SEVERAL, Draws, Questions, edges_to_learn, learn, vectors_begun
from tests.quick import every
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


@torch.no_grad()
def vectors_of(mx, node=None, layer=None, *, hide="edge"):
    """Vectors of a multiplex: given ones (J, N, D) and (J, L, D), or random ones."""
    generator = torch.Generator().manual_seed(0)
    vectors = Vectors(mx, Visibility(hide, mx.directed))
    folds = Folds.draw(mx, generator, everywhere=hide == "pair")
    vectors.node_group.copy_(folds.node)
    vectors.layer_group.copy_(folds.layer)
    vectors.seed.fill_(11)
    for name, values in (("node", node), ("layer", layer)):
        into = getattr(vectors, name)
        into.copy_(torch.randn(into.shape, generator=generator) / 5 if values is None else values.view_as(into))
    return vectors


def all_of(parts):
    """The vectors of nodes and of layers of all models, which learn in parts; what learns again counts."""
    found = {}
    for part in parts:
        found |= dict(zip(part.models, zip(*run_to_end(part.steps), strict=True), strict=True))
    return [torch.stack(each) for each in zip(*(found[model] for model in sorted(found)), strict=True)]


def change_recipes(monkeypatch, **changes):
    for name in ("SEVERAL", "ALONE", "LONG"):
        monkeypatch.setattr(training, name, getattr(training, name)._replace(**changes))


def learnt(mx, seed=0, **options):
    """Vectors that were learnt from the edges of a multiplex."""
    return vectors_of(mx, *all_of(learn(EdgeTensors.of(mx, "cpu"), None, vectors_of(mx, **options), seed)), **options)


def fold_of(vectors, u, v, layer):
    """The folds of one pair in all sets."""
    return vectors.fold(torch.tensor([[u, v]]), torch.tensor([layer])).flatten().tolist()


def edges_of(mx):
    return torch.from_numpy(np.array(mx.edge_index.T)), torch.from_numpy(np.array(mx.edge_layer))


@pytest.fixture
def alone(monkeypatch):
    """One set of long vectors, as in a large multiplex."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0)


@pytest.fixture(params=["long", "short"])
def long(request, alone, monkeypatch):
    """Whether the vectors of one set are long; each is tested."""
    if request.param == "short":
        monkeypatch.setattr(scoring, "MORE_NODES", 0)
    return request.param == "long"


def every_pair(num_nodes, layer):
    pairs = torch.cartesian_prod(torch.arange(num_nodes), torch.arange(num_nodes))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs, torch.full((len(pairs),), layer)


# Scores


@torch.no_grad()
@pytest.mark.parametrize("directed", [False, True])
def test_a_term_is_the_mean_over_sets_of_complex_products_by_the_vectors_of_the_pair_s_fold(directed, monkeypatch):
    monkeypatch.setattr(scoring, "LOOKED_UP_AT_ONCE", 7)
    vectors = vectors_of(random_mx(directed))
    vectors.factor[1], vectors.usual[1] = 0.5, 2.0
    pairs, target = every_pair(30, 1)[0][::37], torch.ones(24, dtype=torch.int64)
    expected = []
    for u, v in pairs.tolist():
        total = 0
        for number in range(SETS):
            fold = (vectors.node_group[number, u] + vectors.node_group[number, v] + vectors.layer_group[number, 1]) % 8
            x, y, w = (
                np.array(each[:DIMENSION]) + 1j * np.array(each[DIMENSION:])
                for each in (*vectors.node[number, fold, [u, v]].tolist(), vectors.layer[number, fold, 1].tolist())
            )
            one, other = (x * w * y.conj()).sum().real, (y * w * x.conj()).sum().real
            total += one if directed else (one + other) / 2
        expected.append(0.5 * (total / SETS - 2))
    assert vectors(pairs, target).tolist() == pytest.approx(expected, abs=1e-5)
    assert vectors(pairs[:0], target[:0]).shape == (0,)


def test_nodes_of_another_graph_have_the_vectors_of_the_same_nodes():
    vectors = vectors_of(random_mx(directed=True))
    vectors.factor[:] = 1
    pairs, target = torch.tensor([[4, 9], [0, 2]]), torch.tensor([1, 2])
    expected = vectors(pairs, target).tolist()
    place = torch.full((40,), -1)
    place[[10, 20, 30, 35]] = torch.tensor([4, 9, 0, 2])
    moved = vectors.in_graph(place)
    assert moved(torch.tensor([[10, 20], [30, 35]]), target).tolist() == expected
    assert moved(torch.tensor([[10, 21], [21, 35]]), target).tolist() == [0, 0]  # node 21 is new
    assert vectors(pairs, target).tolist() == expected  # as before
    again = moved.in_graph(torch.tensor([10, 20, -1, 21]))  # a graph whose nodes are those of the other graph
    assert again(torch.tensor([[0, 1], [0, 2]]), target).tolist() == [expected[0], 0]


def test_a_large_multiplex_has_one_set(monkeypatch):
    assert vectors_of(random_mx()).node.shape == (SETS, FOLDS, 30, 2 * DIMENSION)
    monkeypatch.setattr(scoring, "FEW_EDGES", 300)
    assert vectors_of(random_mx()).node.shape == (1, FOLDS_LONG + 1, 30, 16 * DIMENSION)
    monkeypatch.setattr(scoring, "MORE_NODES", 29)
    assert vectors_of(random_mx()).node.shape == (1, FOLDS_ALONE + 1, 30, 2 * DIMENSION)


@torch.no_grad()
@pytest.mark.parametrize("directed", [False, True])
def test_one_set_alone_scores_known_edges_without_their_fold_and_other_pairs_by_all_edges(directed, long):
    """Pairs that are held out are scored without their fold or, by long vectors, without validation edges."""
    mx, half = random_mx(directed), DIMENSION * (8 if long else 1)
    vectors = vectors_of(mx)
    vectors.factor[1], vectors.usual[1] = 0.5, 2.0
    pairs, target = every_pair(30, 1)[0][::37], torch.ones(24, dtype=torch.int64)
    known = mx.has_edges(pairs.numpy(), "b").tolist()
    assert 0 < sum(known) < 24

    def score(model, u, v):
        x, y, w = (
            np.array(each[:half]) + 1j * np.array(each[half:])
            for each in (*vectors.node[0, model, [u, v]].tolist(), vectors.layer[0, model, 1].tolist())
        )
        one, other = (x * w * y.conj()).sum().real, (y * w * x.conj()).sum().real
        return (one if directed else (one + other) / 2) - 2

    folds = [fold_of(vectors, u, v, 1)[0] for u, v in pairs.tolist()]
    models = np.where(known, folds, len(vectors.node[0]) - 1)
    expected = [0.5 * score(model, u, v) for model, (u, v) in zip(models, pairs.tolist(), strict=True)]
    assert vectors(pairs, target).tolist() == pytest.approx(expected, abs=1e-5)
    models = np.where(long, len(vectors.node[0]) - 1, folds)
    expected = [score(model, u, v) for model, (u, v) in zip(models, pairs.tolist(), strict=True)]
    assert vectors.score(pairs, target, held_out=True).tolist() == pytest.approx(expected, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("directed", [False, True])
def test_scores_in_a_loop_are_those_of_plain_torch(directed):
    generator = torch.Generator().manual_seed(0)
    node, layer = (torch.randn(3, rows, 10, generator=generator) for rows in (40, 4))
    model, target, *ends = (torch.randint(size, (5_000,), generator=generator) for size in (3, 4, 40, 40))
    asked = (node, layer, model, torch.stack(ends, 1), target)
    expected = scoring.scores.reference(*asked, directed=directed)
    assert scoring.scores(*asked, directed=directed).numpy() == pytest.approx(expected.numpy(), abs=1e-5)


# Folds


def test_folds_hide_both_directions_and_all_layers_where_pairs_are_hidden_everywhere():
    mx, (pairs, zeros) = random_mx(num_nodes=40), every_pair(40, 0)
    vectors = vectors_of(mx)
    by_layer = [vectors.fold(pairs, zeros + layer)[1] for layer in range(3)]
    assert (by_layer[0] == vectors.fold(pairs.flip(1), zeros)[1]).all()
    assert (by_layer[0] != by_layer[1]).all()  # there are fewer layers than folds
    for each in by_layer:
        assert torch.bincount(each, minlength=FOLDS).tolist() == pytest.approx([40 * 39 / 8] * 8, abs=40)
    assert (vectors.fold(pairs, zeros)[0] != by_layer[0]).any()  # another set
    vectors = vectors_of(mx, hide="pair")
    assert (vectors.fold(pairs, zeros) == vectors.fold(pairs, zeros + 2)).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
def test_pairs_that_are_hidden_together_are_in_one_fold_of_one_set_alone_and_known_together(hide, directed, long):
    """Both directions, unless these are different pairs, and all layers where pairs are hidden everywhere."""
    mx, (pairs, zeros) = random_mx(directed, num_nodes=40), every_pair(40, 0)
    vectors = vectors_of(mx, hide=hide)
    ways = ((pairs, zeros), (pairs.flip(1), zeros), (pairs, zeros + 2))
    first, back, third = (vectors.fold(*each)[0] for each in ways)
    assert bool((first == back).all()) == (not directed or hide != "edge")
    assert bool((first == third).all()) == (hide == "pair")
    folds = FOLDS_LONG if long else FOLDS_ALONE
    assert torch.bincount(first, minlength=folds).tolist() == pytest.approx([len(pairs) / folds] * folds, rel=0.2)
    expected = np.zeros(len(pairs), bool)
    for name in mx.layer_names if hide == "pair" else ["a"]:
        expected |= mx.has_edges(pairs.numpy(), name)
        if hide != "edge":
            expected |= mx.has_edges(pairs.flip(1).numpy(), name)
    with torch.no_grad():
        found = vectors.score(pairs, zeros)
        vectors.edges = vectors.edges[:0]
        by_all_edges = found == vectors.score(pairs, zeros)
    assert by_all_edges.tolist() == (~expected).tolist()


@pytest.mark.parametrize(
    ("hide", "directed", "sampled", "sets"),
    every(5, ["edge", "layer", "pair"], [False, True], [False, True], [SETS, 1]),
)
def test_vectors_of_a_fold_do_not_depend_on_its_edges(hide, directed, sampled, sets, monkeypatch):
    """To the last bit. Not all questions are asked in a step, and there may be fewer candidates than nodes."""
    for name, value in (("EPOCHS", 2), ("FEWEST", 5), ("BATCH", 40)):
        monkeypatch.setattr(training, name, value)
    change_recipes(monkeypatch, full=2 if sampled else 100, candidates=6)
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    mx = random_mx(directed)
    vectors = vectors_of(mx, hide=hide)
    whole = all_of(learn(EdgeTensors.of(mx, "cpu"), None, vectors, 5))
    for number, fold in ((0, 0), (sets - 1, 1)):
        out = (vectors.fold(*edges_of(mx))[number] == fold).numpy()
        assert out.any()
        some = all_of(learn(EdgeTensors.of(mx.keep_edges(~out), "cpu"), None, vectors, 5))
        place = number * vectors.node.shape[1] + fold
        for before, after in zip(whole, some, strict=True):
            assert torch.equal(before[place], after[place])
            assert not torch.equal(before[place + 1], after[place + 1])


# Learning


def questions_of(mx, vectors):
    groups = None if vectors.alone else Folds(vectors.node_group, vectors.layer_group)
    hidden = [fold == model for fold in vectors.fold(*edges_of(mx)) for model in range(vectors.node.shape[1])]
    return Questions.of(EdgeTensors.of(mx, "cpu"), torch.stack(hidden), groups)


@pytest.mark.parametrize(("directed", "sets"), every(3, [False, True], [SETS, 1]))
def test_each_model_learns_the_edges_of_other_folds_and_the_last_of_one_set_all(directed, sets, monkeypatch):
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    mx = random_mx(directed)
    vectors = vectors_of(mx)
    asked = questions_of(mx, vectors)
    ways = zip(mx.edge_layer.tolist(), mx.edge_index.T.tolist(), strict=True)
    edges = {(0, layer, u, v): fold_of(vectors, u, v, layer) for layer, (u, v) in ways}
    edges |= {(int(directed), layer, v, u): folds for (_, layer, u, v), folds in edges.items()}
    own, models = list(asked.of_models()), FOLDS_LONG + 1 if sets == 1 else FOLDS
    assert len(own) == sets * models
    question = torch.nn.utils.rnn.pad_sequence(own, batch_first=True, padding_value=len(asked.end) - 1)
    row, answer = asked.answers_to(question)
    for place, (number, model) in enumerate(np.ndindex(sets, models)):
        at = question.flatten()[row[row // question.shape[1] == place]]
        nodes = answer[row // question.shape[1] == place]
        found = list(
            zip(*(each.tolist() for each in (asked.against[at], asked.layer[at], asked.end[at], nodes)), strict=True)
        )
        expected = {edge for edge, folds in edges.items() if folds[number] != model}
        assert len(found) == len(expected)
        assert set(found) == expected
        assert set(own[place].tolist()) == set(at.tolist())  # no question without an answer
    assert (len(expected) == len(edges)) == (sets == 1)


def test_each_pass_asks_all_questions_once(monkeypatch):
    monkeypatch.setattr(training, "BATCH", 40)
    draws = Draws(torch.arange(100, 200), 7, SEVERAL)
    assert draws.steps == 90  # 30 passes of 3 steps
    first, second = (torch.cat([draws.take(step) for step in steps]) for steps in (range(3), range(3, 6)))
    assert first.sort().values.tolist() == second.sort().values.tolist() == list(range(100, 200))
    assert first.tolist() != second.tolist()
    assert not len(draws.take(90))
    assert Draws(torch.arange(10), 7, SEVERAL).steps == training.FEWEST
    assert Draws(torch.arange(1_600), 7, SEVERAL).steps == 300
    assert Draws(torch.arange(0), 7, SEVERAL).steps == 0


def plain_loss(node, layer, asked, step):
    """The loss of a step, question by question."""
    total, (size, width) = 0.0, step.question.shape
    num_nodes, candidates = node.shape[1], step.candidates.tolist()
    for place in range(size * width):
        j, q = place // width, int(step.question.flatten()[place])
        number, fold = divmod(j, FOLDS)
        end, relation, against = (int(each[q]) for each in asked[:3])
        right = step.answer[step.row == place].tolist()
        if not right:
            continue

        def score(other, j=j, end=end, relation=relation, against=against):
            x, w, y = (torch.complex(*each.chunk(2)) for each in (node[j, end], layer[j, relation], node[j, other]))
            return (y * w * x.conj() if against else x * w * y.conj()).sum().real

        def hidden(other, number=number, fold=fold, end=end, relation=relation):
            if asked.groups is None:
                return False
            group, shift = asked.groups.node[number], asked.groups.layer[number, relation]
            return int(group[end] + group[other] + shift) % FOLDS == fold

        wrong = [other for other in candidates if other != end and other not in right and not hidden(other)]
        terms = [score(other).exp() for other in right]
        terms += [score(other).exp() * num_nodes / len(candidates) for other in wrong]
        for other in right:
            lengths = (torch.complex(*each.chunk(2)).abs() for each in (node[j, other], layer[j, relation]))
            penalty = SEVERAL.penalty * sum((each**3).sum() for each in lengths)
            total = total + torch.stack(terms).sum().log() - score(other) + penalty
    return total


@pytest.mark.parametrize(("directed", "sampled", "sets"), every(3, [False, True], [False, True], [SETS, 1]))
def test_gradients_are_those_of_the_loss_by_autograd(directed, sampled, sets, monkeypatch):
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    mx = random_mx(directed, num_nodes=20)
    vectors = vectors_of(mx).double()
    asked = questions_of(mx, vectors)
    last = len(asked.end) - 1
    question = torch.nn.utils.rnn.pad_sequence(
        [own[place % 9 :: 60] for place, own in enumerate(asked.of_models())], True, last
    )
    candidates = torch.arange(20) if not sampled else torch.tensor([0, 3, 4, 8, 11, 15, 19])
    step = Step(question, *asked.answers_to(question), candidates)
    values = [each.detach().flatten(0, 1).requires_grad_() for each in (vectors.node, vectors.layer)]
    expected = torch.autograd.grad(plain_loss(*values, asked, step), values)
    for version in (descent, descent.reference):
        with torch.no_grad():
            found = version(*values, asked, step, SEVERAL.penalty)
        for one, other in zip(found, expected, strict=True):
            assert one.numpy() == pytest.approx(other.numpy(), abs=1e-9)


@pytest.mark.parametrize("sets", [SETS, 1])
def test_a_second_layer_with_the_same_edges_is_learnt(sets, monkeypatch):
    """Pairs linked in the first layer score higher in the second, by vectors that do not know their edge there."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    mx = random_mx()
    vectors, (pairs, target) = learnt(mx), every_pair(30, 1)
    with torch.no_grad():
        score = vectors.score(pairs, target).numpy()
    assert roc_auc(mx.has_edges(pairs.numpy(), "a"), score) > 0.65


def test_a_fold_without_edges_keeps_its_first_vectors():
    """One edge: all folds of a set begin alike, and learn from the edge, but for the fold that the edge is in."""
    mx = bx.Multiplex.from_edges([0], [1], ["a"], num_nodes=12)
    vectors = vectors_of(mx)
    node, layer = all_of(learn(EdgeTensors.of(mx, "cpu"), None, vectors, 3))
    first = torch.randn(SETS, 12, 2 * DIMENSION, generator=torch.Generator().manual_seed(3)) / DIMENSION**0.5
    for number, own in enumerate(fold_of(vectors, 0, 1, 0)):
        for fold, found in enumerate(node.view(SETS, FOLDS, 12, -1)[number]):
            assert torch.equal(found, first[number]) == (fold == own)
    assert torch.isfinite(node).all()
    assert torch.isfinite(layer).all()


@pytest.mark.parametrize(("hide", "sets"), every(2, ["edge", "pair"], [SETS, 1]))
def test_known_edges_of_a_random_layer_cannot_be_told_from_other_pairs(hide, sets, monkeypatch):
    """If a pair's own edge were known, AUC would be far above .5; four standard errors are allowed."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    rng = np.random.default_rng(1)
    pairs = np.stack(np.triu_indices(60, 1), 1)
    mx = bx.Multiplex.from_edges(*pairs[rng.permutation(len(pairs))[:500]].T, ["a"] * 500, num_nodes=60)
    vectors = learnt(mx, hide=hide)
    with torch.no_grad():
        score = vectors.score(torch.from_numpy(pairs), torch.zeros(len(pairs), dtype=torch.int64)).numpy()
    label = mx.has_edges(pairs, "a")
    error = math.sqrt(1 / 12 * (1 / label.sum() + 1 / (~label).sum()))
    assert abs(roc_auc(label, score) - 0.5) < 4 * error


@pytest.mark.parametrize("sets", [SETS, 1])
def test_steps_are_those_of_adagrad_with_a_falling_rate(sets, monkeypatch):
    """Against the optimizer of torch. Several sets have one rate per row, so their rows have one gradient here."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    monkeypatch.setattr(scoring, "MORE_NODES", 0)
    mx, steps = random_mx(), 4
    _, models, width = shape_of(mx)
    shapes = [(sets * models, rows, width if sets == 1 else 1) for rows in (30, 3)]
    given = [[(0.5 + torch.rand(each)).expand(*each[:2], width) for each in shapes] for _ in range(steps)]
    for name, value in (("EPOCHS", 0), ("FEWEST", steps)):
        monkeypatch.setattr(training, name, value)
    parts = learn(EdgeTensors.of(mx, "cpu"), None, vectors_of(mx), 3)
    gradients = iter([[each[part.models] for each in gradient] for part in parts for gradient in given])
    monkeypatch.setattr(training, "descent", lambda *_: next(gradients))
    found = all_of(parts)
    monkeypatch.setattr(training, "descent", lambda *some: [torch.zeros_like(each) for each in some[:2]])
    begun = all_of(learn(EdgeTensors.of(mx, "cpu"), None, vectors_of(mx), 3))
    check_adagrad(begun, found, given, [0.3 * (1 - step / steps) for step in range(steps)])


def check_adagrad(begun, found, given, rates):
    expected = [each.clone().requires_grad_() for each in begun]
    optimizer = torch.optim.Adagrad(expected)
    for gradient, rate in zip(given, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        for value, each in zip(expected, gradient, strict=True):
            value.grad = each.clone()
        optimizer.step()
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-4, atol=1e-5)


def test_the_last_of_long_vectors_goes_on_where_it_was_and_its_folds_are_short(alone, monkeypatch):
    """With what Adagrad has summed up, for a quarter of its steps; other numbers of folds are 0."""
    for name, value in (("EPOCHS", 0), ("FEWEST", 4)):
        monkeypatch.setattr(training, name, value)
    mx, given, seen = random_mx(), [], []

    def descent(node, layer, asked, step, penalty):
        seen.append(node.shape[2])
        given.append([0.5 + torch.rand(each.shape) for each in (node, layer)])
        return given[-1]

    monkeypatch.setattr(training, "descent", descent)
    first, *folds, again = learn(EdgeTensors.of(mx, "cpu"), None, vectors_of(mx), 3)
    before, *short, after = (run_to_end(part.steps) for part in (first, *folds, again))
    assert seen == [16 * DIMENSION] * 4 + [2 * DIMENSION] * 8 + [16 * DIMENSION]
    assert first.models == again.models == [2]
    generator = torch.Generator().manual_seed(3)
    begun = [torch.randn(1, rows, 16 * DIMENSION, generator=generator) / 100 for rows in (30, 3)]
    check_adagrad(begun, before, given[:4], [0.2, 0.15, 0.1, 0.05])
    check_adagrad(begun, after, given[:4] + given[-1:], [0.2, 0.15, 0.1, 0.05, 0.2])
    for node, layer in short:
        for each in (node, layer):
            real, imaginary = each.chunk(2, 2)
            for half in (real, imaginary):
                assert half[..., :DIMENSION].all()
                assert not half[..., DIMENSION:].any()


@pytest.mark.parametrize(
    ("sets", "long", "full", "most"),
    [(SETS, False, 30, None), (SETS, False, 29, 2), (1, False, 30, None), (1, False, 29, 8), (1, True, 5_000, None)],
)
def test_answers_are_compared_with_all_of_few_nodes_or_with_a_sample(sets, long, full, most, monkeypatch):
    """Of 30 nodes; long vectors with all of them."""
    seen = []

    def descent(node, layer, asked, step, penalty):
        seen.append(step.candidates.tolist())
        return torch.zeros_like(node), torch.zeros_like(layer)

    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if sets == 1 else 20_000)
    for name, value in (("EPOCHS", 0), ("descent", descent)):
        monkeypatch.setattr(training, name, value)
    if not long:
        monkeypatch.setattr(scoring, "MORE_NODES", 0)
        change_recipes(monkeypatch, full=full, candidates=most)
    mx = random_mx()
    all_of(learn(EdgeTensors.of(mx, "cpu"), None, vectors_of(mx), 3))
    # a set at a time, or a model of one set; of long vectors, the last learns again for a quarter of the steps
    assert len(seen) == training.FEWEST * (sets if sets > 1 else 3.25 if long else 4)
    if most is None:
        assert all(each == list(range(30)) for each in seen)
    else:
        assert max(map(len, seen)) == most  # drawn with replacement


# In a model


@pytest.fixture(scope="module")
def mx():
    return random_mx()


@pytest.fixture(scope="module")
def few_steps():
    """Learn vectors in a quarter of the time: what is tested here is what becomes of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "FEWEST", 15)
        change_recipes(patch, most=15)
        yield


@pytest.fixture(scope="module")
def model(mx, few_steps):
    with stacked(regression=False, vectors=True):
        return bx.LinkPredictor(**FAST).fit(mx)


def test_vectors_are_a_part_of_the_logit(model, mx):
    with stacked(regression=False, vectors=False):
        alone = bx.LinkPredictor(**FAST).fit(mx)
    beside, pairs = model._fitted.model.beside, np.array([[0, 5], [3, 9], [20, 28]])
    term = beside.vectors(torch.from_numpy(pairs), torch.ones(3, dtype=torch.int64)).detach().numpy()
    expected = float(beside.factor[1]) * alone.score_pairs(mx.node_names[pairs], "b") + term
    assert beside.vectors.factor[1] > 0
    assert model.score_pairs(mx.node_names[pairs], "b") == pytest.approx(expected, abs=1e-5)
    assert model.num_parameters_ == alone.num_parameters_ + SETS * FOLDS * 2 * DIMENSION * (30 + 3)


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
    here = fitted.model.beside.vectors(torch.from_numpy(pairs), target)
    there = torch.from_numpy(other.node_index(mx.node_names[pairs]))
    assert torch.equal(moved.model.beside.vectors(there, target), here)
    new = torch.from_numpy(other.node_index(np.array([[99, 3], [4, 99]])))
    assert moved.model.beside.vectors(new, target).tolist() == [0, 0]
    assert np.isfinite(model.score_pairs([[99, 3]], "a", context=other)).all()


@pytest.mark.slow
def test_vectors_that_count_nothing_are_left_out(mx, few_steps, monkeypatch, tmp_path):
    factors = np.array([1.0, 0.5, 0.0])
    monkeypatch.setattr("banditplex.training.stacking.weigh", lambda parts, start=None: factors)
    beside = bx.LinkPredictor(**FAST).fit(mx)._fitted.model.beside
    assert beside.vectors is None
    assert beside.regression.own.any()
    monkeypatch.setattr("banditplex.training.stacking.weigh", lambda parts, start=None: factors[::2])
    with stacked(regression=False, vectors=True):
        alone = bx.LinkPredictor(**FAST).fit(mx)
    assert alone._fitted.model.beside is None
    alone.save(tmp_path / "model")
    pairs = mx.node_names[[[0, 5]]]
    assert bx.LinkPredictor.load(tmp_path / "model").score_pairs(pairs, "b") == alone.score_pairs(pairs, "b")


def test_large_multiplexes_have_no_vectors(mx, monkeypatch):
    monkeypatch.setattr(training, "MOST_NODES", 29)
    model = bx.LinkPredictor(**FAST).fit(mx)
    assert model._fitted.model.beside.vectors is None
    assert model._fitted.model.beside.regression is not None


def test_one_network_has_vectors_if_it_is_one_for_its_many_edges(mx, few_steps, monkeypatch, tmp_path):
    """And none if it was asked for."""
    assert bx.LinkPredictor(members=1, epochs=30, max_steps=30, warmup=0).fit(mx)._fitted.model.visibility
    monkeypatch.setattr("banditplex.training.config.MANY_EDGES", 100)
    model, pairs = bx.LinkPredictor(epochs=30, max_steps=30, warmup=0).fit(mx), mx.node_names[[[0, 5], [3, 9]]]
    assert model._fitted.model.beside.vectors.factor.max() > 0
    model.save(tmp_path / "model")
    loaded = bx.LinkPredictor.load(tmp_path / "model")
    assert loaded.score_pairs(pairs, "b").tolist() == model.score_pairs(pairs, "b").tolist()


def test_vectors_of_many_layers_are_learnt_from_targets_and_panels(monkeypatch):
    mx = bx.Multiplex.from_edges([0, 1, 2, 0, 1], [1, 2, 3, 2, 3], ["a", "b", "c", "d", "d"], num_nodes=4)
    data = prepare(mx, np.array([1]), Config(validation=0).checked(), panels=Panels({1: (3,)}))
    monkeypatch.setattr(training, "MANY_LAYERS", 3)
    assert edges_to_learn(data, ())[0].layer.tolist() == [1, 3, 3]
    monkeypatch.setattr(training, "MANY_LAYERS", 4)
    assert edges_to_learn(data, ())[0].layer.tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("hide", ["edge", "pair"])
def test_edges_that_any_member_holds_out_are_held_out(hide, monkeypatch):
    mx = random_mx()
    monkeypatch.setattr(training, "MANY_LAYERS", 2)
    members = [Config(seed=seed, hide=hide, validation=0.2).checked() for seed in (3, 4)]
    every = [prepare(mx, np.array([0, 1]), each, panels=Panels({0: (1,), 1: (0,)})) for each in members]
    edges, held_out = edges_to_learn(every[0], members)
    assert edges.layer.unique().tolist() == [0, 1]
    left_out = set()  # a pair is left out in the layers where it is hidden
    for data in every:
        chosen = data.validation_edges
        for layer, (u, v) in zip(chosen.instance.tolist(), np.sort(chosen.pairs, axis=1).tolist(), strict=True):
            left_out |= {(each, u, v) for each in ((layer,) if hide == "edge" else (0, 1))}
    ends = torch.stack([edges.source, edges.destination], 1).sort(1).values
    expected = [(each, u, v) in left_out for each, (u, v) in zip(edges.layer.tolist(), ends.tolist(), strict=True)]
    assert held_out.tolist() == expected
    assert sum(held_out) > len(every[0].validation_edges)


def test_long_vectors_score_validation_edges_before_they_learn_them(alone, monkeypatch):
    monkeypatch.setattr(training, "FEWEST", 5)
    config = Config(device="cpu").checked()
    data = prepare(random_mx(), np.arange(3), config)
    with torch.no_grad(), vectors_begun(data, [config]) as begun:
        vectors = begun.judged()
        assert vectors.node.flatten(2).any(2).all()
        chosen = data.validation_edges
        pairs, target = torch.from_numpy(chosen.pairs), torch.from_numpy(chosen.instance)
        before, folds = vectors.score(pairs, target, held_out=True), vectors.node[0, :-1].clone()
        begun.finish()
        after = vectors.score(pairs, target, held_out=True) + vectors.usual[target]
    assert (after > before).float().mean() > 0.8  # it has learnt them now
    assert torch.equal(vectors.node[0, :-1], folds)


def test_the_last_of_long_vectors_does_not_depend_on_edges_that_are_held_out_before_it_learns_all(alone, monkeypatch):
    monkeypatch.setattr(training, "FEWEST", 5)
    mx = random_mx()
    edges, held_out = EdgeTensors.of(mx, "cpu"), torch.arange(mx.num_edges) % 5 == 1
    vectors = vectors_of(mx)
    (whole, *_, again), (some, *_) = learn(edges, held_out, vectors, 5), learn(edges.keep(~held_out), None, vectors, 5)
    ways = [run_to_end(each.steps)[0] for each in (whole, again, some)]
    assert torch.equal(ways[0], ways[2])
    assert not torch.equal(ways[0], ways[1])


def test_a_small_multiplex_has_several_sets(monkeypatch):
    """Up to so many nodes, and fewer than so many edges."""
    mx = bx.Multiplex.from_edges([0, 1, 2], [1, 2, 3], "a", num_nodes=4)
    for nodes, edges, sets in ((4, 4, SETS), (4, 3, 1), (3, 4, 1)):
        monkeypatch.setattr(scoring, "FEW_NODES", nodes)
        monkeypatch.setattr(scoring, "FEW_EDGES", edges)
        assert shape_of(mx)[0] == sets
