"""Knowledge-graph models: formulas by plain loops of Python numbers, a planted set, and PyKEEN beside ours."""

import cmath

import numpy as np
import pytest
import torch

from banditplex.baselines import BASELINES, Triples
from banditplex.datasets import load_dataset
from banditplex.evaluation import roc_auc, split
from banditplex.multiplex import Multiplex
from banditplex.nn.relations import FORMULAS, MARGIN
from tests.refusals import refuses

SMALL_GRAPH = Multiplex.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 1, 4], [*"aaabb"], num_nodes=6)


@pytest.fixture(scope="module")
def twins():
    return split(load_dataset("twins").subset(["a", "a-twin", "noise-1"]), hide="layer")


def vectors():
    return [torch.from_numpy(each) for each in np.random.default_rng(0).normal(size=(3, 6))]


def test_distmult():
    u, r, v = vectors()
    assert FORMULAS["distmult"].score(u, r, v).item() == pytest.approx(sum(float(u[i] * r[i] * v[i]) for i in range(6)))


def test_complex():
    numbers = [[complex(x[i], x[i + 3]) for i in range(3)] for x in vectors()]
    expected = sum((a * b * c.conjugate()).real for a, b, c in zip(*numbers, strict=True))
    assert FORMULAS["complex"].score(*vectors()).item() == pytest.approx(expected)


def test_simple():
    u, r, v = vectors()
    there = sum(float(u[i] * r[i] * v[i + 3]) for i in range(3))
    back = sum(float(v[i] * r[i + 3] * u[i + 3]) for i in range(3))
    assert FORMULAS["simple"].score(u, r, v).item() == pytest.approx((there + back) / 2)


def test_rotate():
    """Numbers of u, turned by the angles of the relation, and their distances to those of v."""
    u, r, v = vectors()
    first, second = ([complex(x[i], x[i + 3]) for i in range(3)] for x in (u, v))
    distance = sum(abs(first[i] * cmath.exp(1j * float(r[i])) - second[i]) for i in range(3))
    assert FORMULAS["rotate"].score(u, r[:3], v).item() == pytest.approx(MARGIN - distance)


@pytest.mark.parametrize("name", list(FORMULAS))
def test_the_inverse_relation_gives_the_same_score_from_the_other_end(name):
    (u, r, v), formula = vectors(), FORMULAS[name]
    r = r[: 3 * formula.relation_parts] if formula.parts == 2 else r
    back = formula.alike(formula.towards(v, formula.inverse(r)), u)
    assert back.item() == pytest.approx(formula.score(u, r, v).item())


def test_a_step_with_softmax_is_that_of_the_loss_written_as_loops():
    """The cross-entropy of each end among all nodes: log of the sum of exp(score), minus the score of the edge.

    Row-wise Adagrad starts with the squares of its first gradient: rate * gradient / root of the mean square.
    """
    mx = Multiplex.from_edges([0, 1, 2], [1, 2, 3], [*"aab"], num_nodes=5, directed=True)
    options = {"dimension": 4, "batch_size": 8, "loss": "softmax", "learning_rate": 0.1, "device": "cpu"}
    start, after = (Triples("simple", epochs=epochs, **options).fit(mx) for epochs in (0, 1))
    nodes, layers = (each.values.double().requires_grad_() for each in (start.nodes_, start.relations_))
    loss, score = 0.0, FORMULAS["simple"].score
    for u, r, v in [(0, 0, 1), (1, 0, 2), (2, 1, 3)]:
        loss = loss + sum(score(nodes[u], layers[r], nodes[w]).exp() for w in range(5)).log()
        loss = loss + sum(score(nodes[w], layers[r], nodes[v]).exp() for w in range(5)).log()
        loss = loss - 2 * score(nodes[u], layers[r], nodes[v])
    for table, found, gradient in zip(
        (nodes, layers), (after.nodes_, after.relations_), torch.autograd.grad(loss, [nodes, layers]), strict=True
    ):
        step = 0.1 * gradient / (gradient**2).mean(1, keepdim=True).sqrt()
        torch.testing.assert_close(found.values.double(), table.detach() - step, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "directed"), [("complex", False), ("complex", True), ("rotate", True)])
def test_a_step_with_random_pairs_is_that_of_the_loss_written_as_loops(name, directed):
    """Layer a has all pairs but one, the only possible negative; an undirected one has the direction of its edge."""
    every = [(u, v) for u in range(4) for v in range(4) if (u != v if directed else u < v)]
    edges = [pair for pair in every if pair != (1, 3)]
    mx = Multiplex.from_edges(*zip(*edges, strict=True), ["a"] * len(edges), num_nodes=4, directed=directed)
    options = {"dimension": 4, "batch_size": 99, "num_negatives": 3, "learning_rate": 0.1, "device": "cpu"}
    start, after = (Triples(name, epochs=epochs, **options).fit(mx) for epochs in (0, 1))
    nodes, layers = (each.values.double().requires_grad_() for each in (start.nodes_, start.relations_))
    loss, score, softplus = 0.0, FORMULAS[name].score, torch.nn.functional.softplus
    for u, v in edges if directed else [*edges, *((v, u) for u, v in edges)]:
        a, b = (3, 1) if u > v and not directed else (1, 3)
        loss = loss + softplus(-score(nodes[u], layers[0], nodes[v])) + softplus(score(nodes[a], layers[0], nodes[b]))
    for table, found, gradient in zip(
        (nodes, layers), (after.nodes_, after.relations_), torch.autograd.grad(loss, [nodes, layers]), strict=True
    ):
        step = 0.1 * gradient / (gradient**2).mean(1, keepdim=True).sqrt()
        torch.testing.assert_close(found.values.double(), table.detach() - step, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["distmult-torch", "complex-torch", "simple-torch", "rotate-torch"])
def test_a_step_descends_on_the_logistic_loss(name):
    """The mean loss over all triples, computed from scores alone, falls."""
    mx = SMALL_GRAPH.to_directed()
    every = [(u, v) for u in range(6) for v in range(6) if u != v]

    def loss(model):
        total = 0.0
        for layer in "ab":
            score, known = model.score_pairs(every, layer), mx.has_edges(every, layer)
            total += np.logaddexp(0, np.where(known, -score, score))[known].mean()
            total += np.logaddexp(0, score)[~known].mean()
        return total

    before, after = (BASELINES[name](dimension=16, epochs=epochs, batch_size=8).fit(mx) for epochs in (0, 60))
    assert loss(after) < 0.5 * loss(before)
    parts = {"distmult-torch": (1, 1), "rotate-torch": (2, 1)}.get(name, (2, 2))
    assert before.num_parameters_ == 6 * 16 * parts[0] + 2 * 16 * parts[1]


@pytest.mark.parametrize("name", ["distmult", "complex", "simple", "rotate"])
def test_links_of_a_twin_layer_are_found(twins, name):
    model = Triples(name, dimension=16, epochs=10, batch_size=512).fit(twins.train)
    pairs, label = twins.test("a")
    assert roc_auc(label, model.score_pairs(pairs, "a")) > 0.65


@pytest.mark.parametrize("name", ["complex", "rotate"])
def test_with_one_end_replaced_the_other_end_and_the_layer_are_kept(name):
    """Two nodes: the loss of replaced ends, over all draws of which end and by which node, written as a loop."""
    mx = Multiplex.from_edges([0], [1], ["a"], num_nodes=2, directed=True)
    options = {"dimension": 4, "num_negatives": 20_000, "replace": "end", "learning_rate": 0.1, "device": "cpu"}
    start, after = (Triples(name, epochs=epochs, **options).fit(mx) for epochs in (0, 1))
    nodes, layers = (each.values.double().requires_grad_() for each in (start.nodes_, start.relations_))
    score, softplus = FORMULAS[name].score, torch.nn.functional.softplus
    loss = softplus(-score(nodes[0], layers[0], nodes[1]))
    for w in (0, 1):
        loss = loss + softplus(score(nodes[w], layers[0], nodes[1])) / 4
        loss = loss + softplus(score(nodes[0], layers[0], nodes[w])) / 4
    (gradient,) = torch.autograd.grad(loss, [layers])
    step = 0.1 * gradient / (gradient**2).mean(1, keepdim=True).sqrt()
    torch.testing.assert_close(after.relations_.values.double(), layers.detach() - step, rtol=0.05, atol=0.005)


def test_the_time_limit_stops_training():
    model = Triples(dimension=4, epochs=10**9, time_limit=0.1).fit(SMALL_GRAPH)
    assert np.isfinite(model.score_pairs([[0, 1]], "a")).all()


def test_mistakes_are_refused():
    with refuses("replace", "pair, end", "'both'"):
        Triples(replace="both").fit(SMALL_GRAPH)
    with refuses("loss", "logistic, softmax", "'hinge'"):
        Triples(loss="hinge").fit(SMALL_GRAPH)
    with refuses("rotate", "loss"):
        Triples("rotate", loss="softmax").fit(SMALL_GRAPH)
    with refuses("'transe'", "complex"):
        Triples("transe").fit(SMALL_GRAPH)


def representations(model):
    """The vectors of PyKEEN, as real numbers: nodes and relations."""
    found = []
    for parts in (model.entity_representations, model.relation_representations):
        values = [part().detach() for part in parts]
        found.append(
            torch.cat([x for each in values for x in ((each.real, each.imag) if each.is_complex() else (each,))], 1)
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ours"), [("DistMult", "distmult"), ("ComplEx", "complex"), ("SimplE", "distmult")])
def test_our_formulas_are_those_of_pykeen(name, ours):
    """Ours with the vectors of PyKEEN. Its SimplE is the mean of two DistMult, of first and second vectors."""
    models = pytest.importorskip("pykeen.models", reason="pykeen is not installed")
    factory = SMALL_GRAPH.to_triples_factory()
    theirs = getattr(models, name)(triples_factory=factory, embedding_dim=4, random_seed=0).eval()
    model = Triples(ours, dimension=4, epochs=0, device="cpu").fit(SMALL_GRAPH)
    model.nodes_.values, model.relations_.values = representations(theirs)
    scores = model.score_pairs([[0, 1], [2, 4], [3, 5]], "b") / (2 if name == "SimplE" else 1)
    both = [torch.tensor(each) for each in ([[0, 1, 1], [2, 1, 4], [3, 1, 5]], [[1, 1, 0], [4, 1, 2], [5, 1, 3]])]
    with torch.no_grad():
        expected = sum(theirs.score_hrt(each)[:, 0] for each in both) / 2  # the graph is undirected
    np.testing.assert_allclose(scores, expected.numpy(), rtol=1e-5, atol=1e-6)
