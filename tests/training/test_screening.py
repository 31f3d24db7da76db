"""The search for promising layers: slopes against differences of losses, rounds and looks by hand, layers that help."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from banditplex import Multiplex
from banditplex.datasets.groups import groups
from banditplex.training import screening
from banditplex.training.comparison import RIDGE, Comparison
from banditplex.training.config import Config
from banditplex.training.data import prepare
from banditplex.training.find import find_panels
from banditplex.training.logistic import LEAST_SCALE
from banditplex.training.screening import promise, promising_layers
from tests.nn.test_graph import random_multiplex


def comparison(mx, target, **settings):
    """Compare other layers with one target, on at most 400 edges and as many negatives."""
    config = replace(Config(**settings).checked(), evidence="drawn", validation=0.0)
    data = prepare(mx, np.array([target]), config)
    return Comparison.of(data, data.train_view.graph, 0, np.random.default_rng(0), most=400, negatives_each=1)


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
        value = loss(x @ beta) + RIDGE / 2 * beta[:-1].square().sum()
        value.backward()
        return value

    descent.step(penalised)
    fitted = (x @ beta).detach()
    expected = [
        sum(float((loss(fitted + 1e-4 * z) - loss(fitted - 1e-4 * z)) / 2e-4) ** 2 for z in standard(columns).T)
        for columns in other
    ]
    np.testing.assert_allclose(promise(compare, layers), expected, rtol=1e-2)


def test_without_an_edge_no_layer_is_promising():
    mx = random_multiplex(1, num_layers=4)
    compare = comparison(mx, 1)
    assert promise(replace(compare, label=torch.zeros_like(compare.label)), np.array([0, 3])).tolist() == [0, 0]


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
    whole = promise(compare, layers)
    monkeypatch.setattr(screening, "CELLS", 2 * len(compare.pairs))
    np.testing.assert_allclose(promise(compare, layers), whole, rtol=1e-5)


class Pairs:
    """So many pairs of a target, as far as the search asks."""

    price = 1

    def __init__(self, size):
        self.size = size

    def part(self, size):
        return self if size >= self.size else Pairs(size)


@pytest.mark.parametrize(
    ("layers", "looks", "rounds"),
    [
        (4, 10**9, []),  # no more than are asked for
        (20, 10**9, [(20, 1000)]),  # all pairs in all layers: nothing is left to look at
        (20, 10_000, [(20, 500)]),
        (256, 60_000, [(256, 117), (32, 937)]),  # 30,000 looks each: 30,000 / 256 pairs, then 30,000 / 32
        (256, 120_000, [(256, 234), (32, 1000)]),
        (3_000, 300_000, [(3_000, 25), (375, 200), (47, 1000)]),  # of 100,000 looks, the last round takes 47,000
    ],
)
def test_all_rounds_have_the_same_looks_and_go_on_with_the_best_eighth(monkeypatch, layers, looks, rounds):
    seen = []

    def promise(part, some):
        seen.append((len(some), part.size))
        return some % 1000 + some / 10_000  # the best is the last one below a multiple of 1,000

    monkeypatch.setattr(screening, "promise", promise)
    found = promising_layers(Pairs(1000), np.arange(layers), 4, looks)
    assert seen == rounds
    best = sorted(range(layers), key=lambda layer: layer % 1000 + layer / 10_000)[-4:]
    assert found.tolist() == (best[::-1] if rounds else [*range(4)])


def test_a_part_is_spread_evenly():
    mx = groups(12, 4, num_nodes=60, edges_per_layer=300, num_communities=4, seed=3)
    compare = comparison(mx, 0)
    assert len(compare.pairs) == 600
    part = compare.part(240)
    assert torch.equal(part.pairs, compare.pairs[torch.arange(240) * 600 // 240])
    assert part.label.mean() == 0.5
    assert len(compare.part(1).pairs) == 200
    assert compare.part(600) is compare


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
