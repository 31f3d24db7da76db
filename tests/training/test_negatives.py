"""Negatives on the device: every pair that may be drawn is, equally often, and no other."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from banditplex.backend.packing import EdgeTensors
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import HIDE, Visibility
from banditplex.training.negatives import DeviceNegatives
from tests.nn.test_graph import random_multiplex
from tests.refusals import refuses


def sampler_of(mx, hide="edge", on_host=None):
    visibility = Visibility(hide, mx.directed)
    host = on_host or (lambda: pytest.fail("drawn on the host"))
    return DeviceNegatives(EdgeTensors.of(mx, "cpu"), visibility, host, only_host=False)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", HIDE)
def test_all_negatives_are_equally_likely(hide, directed):
    mx = random_multiplex(4, num_edges=60, directed=directed)
    layer = 1
    edges = mx.edge_index.T if hide == "pair" else mx.edges(layer).T
    linked = {tuple(pair) for pair in edges.tolist()}
    if hide != "edge" or not directed:
        linked |= {(v, u) for u, v in linked}
    free = [pair for pair in (permutations if directed else combinations)(range(12), 2) if pair not in linked]
    drawn = sampler_of(mx, hide).draw(np.full(100 * len(free), layer), np.random.default_rng(0))
    count = dict.fromkeys(free, 0)
    for pair in map(tuple, drawn.tolist()):
        count[pair] += 1
    excess = sum((number - 100) ** 2 / 100 for number in count.values())
    degrees = len(free) - 1
    assert excess < degrees + 3.5 * (2 * degrees) ** 0.5  # chi-square has this mean and deviation


def test_each_layer_has_its_own_negatives():
    mx = Multiplex.from_edges([0, 0, 0], [1, 2, 3], ["a", "b", "c"], num_nodes=4)
    layer = np.tile([2, 0, 1], 200)
    drawn = sampler_of(mx).draw(layer, np.random.default_rng(1))
    for index in range(3):
        expected = {pair for pair in combinations(range(4), 2) if pair != (0, index + 1)}
        assert {tuple(pair) for pair in drawn[layer == index].tolist()} == expected


def test_draws_depend_on_the_generator_alone():
    mx, layer = random_multiplex(0), np.zeros(50, int)
    first, again, other = (sampler_of(mx).draw(layer, np.random.default_rng(seed)).tolist() for seed in (5, 5, 6))
    assert first == again != other
    rng = np.random.default_rng(5)
    assert sampler_of(mx).draw(layer, rng).tolist() != sampler_of(mx).draw(layer, rng).tolist()


def test_layers_with_few_negatives_are_left_to_the_host():
    full = [pair for pair in combinations(range(9), 2) if pair != (3, 7)]
    source, destination = np.array([*full, (0, 1)]).T
    mx = Multiplex.from_edges(source, destination, ["full"] * 35 + ["open"], num_nodes=9)
    sampler = sampler_of(mx, on_host=lambda: Visibility().negative_sampler(mx))
    layer = np.array([1, 0, 1, 0, 0])
    drawn = sampler.draw_tensor(torch.from_numpy(layer), np.random.default_rng(0)).tolist()
    assert [drawn[i] for i in (1, 3, 4)] == [[3, 7]] * 3
    assert all(drawn[i] != [0, 1] and drawn[i][0] < drawn[i][1] for i in (0, 2))


def test_edges_of_other_layers_do_not_make_negatives_few():
    """Nine layers have five of the 45 pairs each: 40 are free in each of them, and the host is not asked."""
    source, destination = np.array([*combinations(range(10), 2)]).T
    mx = Multiplex.from_edges(source, destination, np.repeat([*"abcdefghi"], 5), num_nodes=10)
    drawn = sampler_of(mx).draw(np.arange(9).repeat(20), np.random.default_rng(0))
    assert not any(mx.has_edges(drawn[20 * at : 20 * at + 20], name).any() for at, name in enumerate("abcdefghi"))


def test_a_layer_without_negatives_is_refused():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 2], "a", num_nodes=3)
    with refuses("'a'", 0):
        sampler_of(mx, on_host=lambda: Visibility().negative_sampler(mx)).draw(
            np.zeros(1, int), np.random.default_rng(0)
        )


def test_keys_of_more_than_64_bits_are_refused():
    mx = Multiplex(np.array([[0], [1]]), np.array([0, 1]), ("a",), np.broadcast_to(np.int64(0), 2**32))
    with refuses("4,294,967,296"):
        sampler_of(mx)
