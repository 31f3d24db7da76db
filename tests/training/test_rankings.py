"""Factors from rankings: against torch's cross-entropy, a plain count, and on parts of which one knows the answer."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.nn import vectors as scoring
from banditplex.training import rankings as rankings_of
from banditplex.training import stacking
from banditplex.training import vectors as training
from banditplex.training.config import Config
from banditplex.training.data import prepare
from banditplex.training.rankings import Rankings
from banditplex.training.stacking import SPREAD
from banditplex.training.vectors import TargetVectors
from tests.training.test_vectors import change_recipes, random_mx, vectors_of


def rankings(seed=0, size=40, candidates=6, noise=(0.5, 3.0)):
    """Rankings of edges by parts that see the truth with noise; some nodes make known edges."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-2, 1, (size, 2, candidates))
    above = np.stack([truth + each * rng.normal(0, 1, truth.shape) for each in noise])
    return Rankings(np.arange(size), above, rng.random(truth.shape) < 0.7)


def test_the_page_about_the_model_says_how_much_networks_count():
    page = (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
    assert [float(share) for share in re.findall(r"Networks then count (\S+) of that", page)] == [rankings_of.SHARE]


def test_factors_have_the_least_cross_entropy_with_priors(monkeypatch):
    """Autograd of the plain loss is 0 there, up to what L-BFGS-B leaves."""
    monkeypatch.setattr(rankings_of, "SHARE", 1.0)
    found = rankings()
    beta = found.weigh(np.array([1.0, 1.0]))
    assert (beta > 0).all()
    asked = torch.tensor(beta, requires_grad=True)
    loss = 0.5 * ((asked - torch.tensor([0.0, 1.0])) ** 2).sum() / SPREAD**2
    for query in range(40):
        for end in range(2):
            score = (asked[:, None] * torch.from_numpy(found.above[:, query, end])).sum(0)
            loss = loss + torch.log(1 + (torch.from_numpy(found.counts[query, end]) * score.exp()).sum())
    loss.backward()
    assert asked.grad.numpy() == pytest.approx([0, 0], abs=0.05)
    assert loss.item() > 10


def test_a_part_that_says_nothing_counts_nothing():
    """The first part ranks edges at random."""
    rng, found = np.random.default_rng(1), rankings(seed=1, size=400, noise=(0.1, 0.1))
    found.above[0] = rng.normal(0, 3, found.above[0].shape)
    first, second = found.weigh(np.array([1.0, 1.0]))
    assert first < 0.05
    assert second > 0.5


def test_some_rankings_are_weighed_as_if_there_were_no_others():
    found, some = rankings(), np.arange(40) % 4 != 1
    alone = Rankings(found.place[some], found.above[:, some], found.counts[some])
    start = np.array([1.0, 0.1])
    assert found.weigh(start, some) == pytest.approx(alone.weigh(start))
    assert found.weigh() == pytest.approx(found.weigh(start), rel=1e-2)  # wherever the search begins
    assert found.weigh(start, some) != pytest.approx(found.weigh(start), rel=1e-3)


def test_others_than_vectors_count_a_share_of_what_cross_entropy_says(monkeypatch):
    found = rankings(seed=2)
    first, second = found.weigh()
    monkeypatch.setattr(rankings_of, "SHARE", 1.0)
    assert [first, second] == pytest.approx([0.4, 1.0] * found.weigh())


@pytest.mark.parametrize("directed", [False, True])
@torch.no_grad()
def test_both_ends_are_ranked_among_all_nodes_that_make_no_known_edge(directed, monkeypatch):
    monkeypatch.setattr(scoring, "FEW_EDGES", 0)
    monkeypatch.setattr(rankings_of, "PAIRS", 2 * 30 * 7)
    mx = random_mx(directed)
    data, vectors = prepare(mx, np.arange(3), Config(device="cpu").checked()), vectors_of(mx)
    model = TargetVectors(vectors, data)
    found = Rankings.of(data, [model, model], vectors, np.random.default_rng(1))
    assert found.above.shape == (2, 7, 2, 30)
    assert found.above[0].tolist() == found.above[1].tolist()
    edges, half = data.validation_edges, vectors.node.shape[3] // 2
    node, layer = (torch.complex(*each[0, -1].split(half, 1)) for each in (vectors.node, vectors.layer))

    def score(u, v, target):
        one, other = ((node[a] * layer[target] * node[b].conj()).sum().real for a, b in ((u, v), (v, u)))
        return float(one if directed else (one + other) / 2)

    for query, place in enumerate(found.place.tolist()):
        target, edge = int(edges.instance[place]), edges.pairs[place].tolist()
        known = {tuple(pair) for pair in mx.edges(mx.layer_names[target]).T.tolist()}
        known |= set() if directed else {(v, u) for u, v in known}
        for end, other in np.ndindex(2, 30):
            pair = (other, edge[1]) if end == 0 else (edge[0], other)
            assert found.counts[query, end, other] == (pair not in known and pair[0] != pair[1])
            expected = score(*pair, target) - score(*edge, target)
            assert found.above[0, query, end, other] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("directed", [False, True])
def test_long_vectors_of_a_directed_multiplex_are_stacked_by_rankings(directed, monkeypatch):
    """There is no regression. If rankings say that networks count nothing, scores are those of vectors."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0)
    monkeypatch.setattr(training, "FEWEST", 15)
    monkeypatch.setattr(stacking, "LITTLE", 0.0)
    change_recipes(monkeypatch, most=15)
    asked = []

    def weigh(self, start=None, some=None):
        asked.append((self.above.shape, None if some is None else int(some.sum())))
        return np.array([0.0, 2.0])

    monkeypatch.setattr(Rankings, "weigh", weigh)
    mx = random_mx(directed)
    model = bx.LinkPredictor(members=2, epochs=2, warmup=0).fit(mx)
    beside, pairs = model._fitted.model.beside, mx.node_names[[[0, 5], [3, 9]]]
    if not directed:
        assert asked == []
        return
    (_, size, _, _), _ = asked[0]
    assert asked[0] == ((2, size, 2, 30), None)
    assert sum(number for _, number in asked[1:]) == 3 * size  # each ranking is in three of the four other folds
    target = torch.ones(2, dtype=torch.int64)
    assert model.score_pairs(pairs, "b") == pytest.approx(
        2 * beside.vectors.score(torch.tensor([[0, 5], [3, 9]]), target).detach().numpy(), abs=1e-5
    )
