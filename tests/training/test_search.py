"""The search for promising layers: slopes against differences of losses, rounds and looks by hand, layers that help."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from banditplex import Multiplex
from banditplex.datasets.groups import groups
from banditplex.training import search
from banditplex.training.comparison import RIDGE, Comparison
from banditplex.training.config import Config
from banditplex.training.data import prepare
from banditplex.training.find import find_panels
from banditplex.training.logistic import LEAST_SCALE, LIGHT
from banditplex.training.search import look, promise, promising_layers, spread, unexplained
from tests.nn.test_graph import random_multiplex


def comparison(mx, target, **settings):
    """Compare other layers with one target, on at most 400 edges and as many negatives."""
    config = replace(Config(**settings).checked(), evidence="drawn", validation=0.0)
    data = prepare(mx, np.array([target]), config)
    return Comparison.of(data, data.train_view.graph, 0, np.random.default_rng(0), most=400, negatives_each=1)


def promise_of(compare, layers):
    """Return how promising layers are by all pairs."""
    return promise(look(compare, layers), len(compare.pairs))


@pytest.mark.parametrize("directed", [False, True])
def test_promise_is_the_squared_slope_of_the_loss(directed):
    mx = random_multiplex(1, num_nodes=30, num_layers=4, num_edges=300, directed=directed)
    compare, layers = comparison(mx, 2), np.array([3, 0])
    own, other, label = (each.double() for each in (compare.alone[0], compare.of_layers(layers), compare.label))

    def standard(x):
        return (x - x.mean(0)) / x.std(0).clamp(min=LEAST_SCALE)

    def loss(logit):
        share = label.mean()
        weight = torch.where(label > 0, 0.5 / share, 0.5 / (1 - share))
        return (weight * (torch.log1p(torch.exp(-logit)) + (1 - label) * logit)).sum()

    x = torch.cat([standard(own), torch.ones(len(own), 1)], 1)
    beta = torch.zeros(x.shape[1], dtype=x.dtype, requires_grad=True)
    descent = torch.optim.LBFGS([beta], max_iter=500, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def penalised():
        descent.zero_grad()
        value = loss(x @ beta) + LIGHT * RIDGE / 2 * beta[:-1].square().sum()
        value.backward()
        return value

    descent.step(penalised)
    fitted = (x @ beta).detach()
    expected = [
        sum(float((loss(fitted + 1e-4 * z) - loss(fitted - 1e-4 * z)) / 2e-4) ** 2 for z in standard(columns).T)
        for columns in other
    ]
    np.testing.assert_allclose(promise_of(compare, layers), expected, rtol=1e-2)


def test_without_an_edge_no_layer_is_promising():
    mx = random_multiplex(1, num_layers=4)
    compare = comparison(mx, 1)
    assert promise_of(replace(compare, label=torch.zeros_like(compare.label)), np.array([0, 3])).tolist() == [0, 0]


def test_a_target_without_edges_has_no_panel():
    edges = np.random.default_rng(0).integers(0, 40, (2, 20, 30))
    layer = np.repeat([f"layer {place}" for place in range(20)], 30)
    mx = Multiplex.from_edges(
        *edges.reshape(2, -1), layer, num_nodes=40, self_loops="drop", duplicates="max",
        layer_names=["empty", *dict.fromkeys(layer.tolist())],
    )  # fmt: skip
    config = Config(hide="layer").checked()
    assert find_panels(mx, np.array([0, 1]), config).layers[0] == ()


@pytest.mark.parametrize(("directed", "price"), [(False, 1), (True, 3)])
def test_looks_are_dearer_where_neighbours_are_listed(directed, price):
    """All 20 nodes have 9 neighbours or so in each layer: 3 = 1 + 9 // 4."""
    every = np.array([(u, v) for u in range(20) for v in range(20) if 1 <= (v - u) % 20 <= 5])
    mx = Multiplex.from_edges(*every.T, ["a"] * len(every), num_nodes=20, directed=directed, layer_names=["a", "b"])
    assert comparison(mx, 0).price == price


def test_layers_are_looked_at_some_at_a_time_with_the_same_result(monkeypatch):
    compare, layers = comparison(groups(12, 4, num_nodes=60, edges_per_layer=90, seed=3), 0), np.arange(1, 12)
    whole = promise_of(compare, layers)
    monkeypatch.setattr(search, "CELLS", 2 * len(compare.pairs))
    np.testing.assert_allclose(promise_of(compare, layers), whole, rtol=1e-5)


def test_sums_of_two_parts_are_those_of_both(monkeypatch):
    """As far as they have the same regression."""
    compare, layers = comparison(groups(12, 4, num_nodes=60, edges_per_layer=90, seed=3), 0), np.arange(1, 12)
    order = torch.randperm(len(compare.pairs), generator=torch.manual_seed(0))
    given = {len(at): unexplained(compare)[at] for at in (order[:50], order[50:], torch.arange(len(order)))}
    monkeypatch.setattr(search, "unexplained", lambda some: given[len(some.pairs)])
    parts = [look(compare.within(compare.graph, at), layers) for at in (order[:50], order[50:])]
    np.testing.assert_allclose(promise(parts[0] + parts[1], len(order)), promise_of(compare, layers), rtol=1e-4)


class Pairs(NamedTuple):
    """So many pairs of a target."""

    pairs: torch.Tensor
    graph: None = None
    price: int = 1

    def within(self, graph, at):
        return Pairs(self.pairs[at])


@pytest.mark.parametrize(
    ("layers", "looks", "rounds"),
    [
        (4, 10**9, []),  # no more than are asked for
        (20, 10**9, [(20, 1000)]),  # all pairs in all layers: nothing is left to look at
        (16, 12_000, [(16, 500)]),  # 8,000 looks; a quarter of the layers are as many as are asked for
        (20, 15_000, [(20, 500), (5, 500)]),  # 10,000 looks, then as many pairs again in each of five layers
        (256, 153_600, [(256, 400), (64, 400), (16, 200)]),  # 102,400 looks; after 800 pairs, there are 200 left
        (3_000, 300_000, [(3_000, 200), (750, 200), (188, 400), (47, 200)]),  # 66 pairs are too few
    ],
)
def test_a_round_goes_on_with_the_best_quarter_and_doubles_their_pairs(monkeypatch, layers, looks, rounds):
    """The best are the last ones below a multiple of 1,000."""
    spent, values, pairs = [], np.arange(layers) % 1000 + np.arange(layers) / 10_000, []

    def looked(compare, some):
        spent.append((len(some), len(compare.pairs)))
        pairs.extend(compare.pairs.tolist())
        return torch.from_numpy(values[some]).expand(3, -1).unsqueeze(2)

    monkeypatch.setattr(search, "look", looked)
    monkeypatch.setattr(search, "promise", lambda sums, count: sums[0, :, 0].numpy())
    found = promising_layers(Pairs(torch.arange(1000)), np.arange(layers), 4, looks)
    assert spent == rounds
    assert len({*pairs}) == len(pairs) == sum(size for _, size in rounds)  # no pair twice
    best = np.argsort(values)[-4:][::-1].tolist()
    assert found.tolist() == (best if rounds else [*range(4)])


def test_the_first_pairs_of_an_order_are_spread_evenly():
    """Of the points at multiples of the golden ratio, gaps have three sizes: a, b and a + b."""
    order = spread(1000).numpy()
    assert sorted(order) == [*range(1000)]
    for size in (5, 90, 400):
        gaps = np.diff(np.sort(order[:size]))
        assert len({*gaps.tolist()}) <= 3


@pytest.mark.parametrize("hide", ["layer", "pair"])
@pytest.mark.parametrize("kin", ["alike", "opposite"])
@pytest.mark.parametrize("looks", [10**9, 30_000])
def test_layers_of_the_same_group_are_promising(kin, hide, looks):
    """They share communities with the target, or edges between two of them; with few looks, in two rounds."""
    mx = groups(80, 4, num_nodes=200, num_communities=10, edges_per_layer=600, kin=kin, seed=3)
    for target in (0, 40):
        compare = comparison(mx, target, hide=hide)
        found = promising_layers(compare, np.delete(np.arange(80), target), 8, looks)
        assert len(found) == 8
        assert len({target + 1, target + 2, target + 3} - {*found.tolist()}) <= (looks < 10**9)


def test_layers_with_reversed_edges_are_promising():
    rng = np.random.default_rng(0)
    edges = {name: rng.integers(0, 100, (2, 300)) for name in "abcdefghijklmnop"}
    edges["c"] = np.concatenate([edges["a"][::-1, :150], edges["c"][:, 150:]], 1)
    source, destination = np.concatenate(list(edges.values()), axis=1)
    layer = np.repeat(list(edges), 300)
    mx = Multiplex.from_edges(source, destination, layer, directed=True, self_loops="drop", duplicates="max")
    compare = comparison(mx, mx.layer_index("a"))
    others = np.delete(np.arange(mx.num_layers), mx.layer_index("a"))
    assert promising_layers(compare, others, 1, 10**9).tolist() == [mx.layer_index("c")]
