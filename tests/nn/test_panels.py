"""Panels: a pool of some layers is to a target what the union of all layers is to a multiplex of these layers alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from banditplex.nn.evidence import num_evidence
from banditplex.nn.panels import Panels
from banditplex.nn.spectral import NUM_COLUMNS
from banditplex.nn.view import pack
from banditplex.pairs.visibility import HIDE, Visibility
from tests.nn.test_evidence import plain_columns, without
from tests.nn.test_graph import random_multiplex
from tests.quick import every

NUM_POOLED = 14
PANELS = {0: (3, 1), 2: (4,), 3: (0, 1), 5: ()}


def view_of(mx, hide="edge", panels=PANELS):
    return pack(mx, "cpu", Visibility(hide, mx.directed, evidence=True, pooled=True), Panels(panels))


def pool_part(columns):
    """Return what the pool says, of all columns: structure, then positions."""
    return columns[..., -NUM_POOLED - NUM_COLUMNS : -NUM_COLUMNS], columns[..., -NUM_COLUMNS:]


def questions(mx, step=7):
    pairs = [(u, v) for u in range(mx.num_nodes) for v in range(mx.num_nodes) if u != v]
    asked = list(itertools.product(pairs, PANELS))[::step]
    return torch.tensor([pair for pair, _ in asked]), torch.tensor([target for _, target in asked])


def pooled_alone(mx, target):
    """Return a multiplex of the target, as layer 0, and its panel."""
    few = mx.subset(layers=[target, *PANELS[target]])
    return replace(few, layer_names=tuple(range(few.num_layers)))


@pytest.mark.parametrize("directed", [False, True])
def test_columns_of_a_pool_are_those_of_a_plain_loop_over_its_layers(directed):
    mx = random_multiplex(1, num_layers=6, num_edges=110, directed=directed)
    pairs, target = questions(mx)
    found = pool_part(view_of(mx).evidence.columns(pairs, target))[0]
    for pair, layer, columns in zip(pairs.tolist(), target.tolist(), found, strict=True):
        few = pooled_alone(mx, layer)
        expected = plain_columns(few, pair, 0)[3 : 3 + NUM_POOLED]  # those of the union
        np.testing.assert_allclose(columns, expected, rtol=1e-4, atol=1e-5)


def test_positions_in_a_pool_are_those_in_the_union_of_a_multiplex_of_its_layers():
    mx = random_multiplex(3, num_nodes=60, num_layers=6, num_edges=500)
    pairs, target = questions(mx, 101)
    found = pool_part(view_of(mx).evidence.columns(pairs, target))[1]
    for layer in PANELS:
        few, at = pooled_alone(mx, layer), target == layer
        evidence = pack(few, "cpu", Visibility(evidence=True)).evidence
        expected = evidence.columns(pairs[at], torch.zeros_like(target[at]))[:, -NUM_COLUMNS:]
        torch.testing.assert_close(found[at], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("hide", "directed"), every(5, HIDE, [False, True]))
def test_a_pool_does_not_show_the_edge_that_is_asked_for(hide, directed):
    mx = random_multiplex(2, num_nodes=40, num_layers=6, num_edges=400, directed=directed)
    evidence = view_of(mx, hide).evidence
    edges = zip(mx.edge_index.T.tolist(), mx.edge_layer.tolist(), strict=True)
    for (u, v), layer in [edge for edge in edges if edge[1] in PANELS and edge[0][0] != edge[0][1]][::25]:
        less, asked = without(mx, (u, v), layer, hide), (torch.tensor([[u, v]]), torch.tensor([layer]))
        found, expected = (each.columns(*asked)[0] for each in (evidence, view_of(less, hide).evidence))
        for one, other in zip(pool_part(found), pool_part(expected), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
def test_columns_that_there_were_stay_the_same(directed):
    mx = random_multiplex(4, num_layers=6, num_edges=110, directed=directed)
    pairs, target = questions(mx)
    plain = pack(mx, "cpu", Visibility("layer", directed, evidence=True)).evidence.columns(pairs, target)
    found = view_of(mx, "layer").evidence.columns(pairs, target)
    assert torch.equal(found[:, : plain.shape[1]], plain)
    assert found.shape[1] == num_evidence(Visibility("layer", directed, evidence=True, pooled=True))


def test_few_targets_are_looked_at_alone_with_the_same_result():
    mx = random_multiplex(5, num_nodes=30, num_layers=9, num_edges=400)
    pairs = torch.tensor([(u, v) for u in range(30) for v in range(u)])
    target = torch.full((len(pairs),), 2)
    few = view_of(mx, panels={2: (4, 5)}).evidence
    every = view_of(mx, panels={layer: (4, 5) if layer == 2 else () for layer in range(9)}).evidence
    assert few.graph.both.missing < every.graph.both.missing
    assert torch.equal(few.columns(pairs, target), every.columns(pairs, target))


def test_lists_of_layers_do_not_know_of_pools():
    mx = random_multiplex(6, num_layers=6, num_edges=110, directed=True)
    pairs, target = questions(mx)
    plain = pack(mx, "cpu", Visibility("edge", True, evidence=True)).evidence.lists_of(pairs, target)
    for found, expected in zip(view_of(mx).evidence.lists_of(pairs, target), plain, strict=True):
        assert torch.equal(found, expected)
