"""Kernels for a GPU return what plain torch does; both run on the GPU, or the plain functions alone on the CPU."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from banditplex import backend
from banditplex.backend import choice, find_common, find_lists, list_common, shared_sums, tables, weighted_columns
from banditplex.backend.packing import EdgeTensors
from banditplex.nn import HiddenEdges, paths
from banditplex.nn.graph import PackedGraph
from banditplex.nn.mean import Mean, add_convolution
from banditplex.nn.mean_conv import MeanConv
from banditplex.nn.neighbour_sampling import choose
from banditplex.nn.spectral import Spectral
from tests.nn.test_graph import random_multiplex

on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
    pytest.mark.skipif(not choice.TRITON, reason="Triton is not installed"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=on_gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(5, 3), (7, 16), (4, 2, 9), (300, 100)])
def test_take_and_its_gradient(device, shape):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(shape, generator=generator).to(device).requires_grad_()
    index = torch.randint(len(table), (1000,), generator=generator).to(device)
    index[200:600] = 1  # a long run of equal rows
    factor = torch.randn(1000, *shape[1:], generator=generator).to(device)
    taken = backend.take(table, index)
    assert torch.equal(taken, table[index])
    (gradient,) = torch.autograd.grad((taken * factor).sum(), table)
    expected = torch.zeros_like(table).index_add_(0, index, factor)
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_take_nothing(device):
    table = torch.ones(3, 2, device=device)
    assert backend.take(table, torch.empty(0, dtype=torch.int64, device=device)).shape == (0, 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [5, 16])
def test_sums_over_arcs_both_ways(device, weighted, width):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, width, generator=generator)
    count = torch.randint(0, 5, (40,), generator=generator)
    count[3] = 70
    start = torch.cumsum(count, 0) - count
    source = torch.randint(40, (int(count.sum()),), generator=generator)
    weight = torch.rand(len(source), generator=generator) if weighted else None
    matrix = torch.zeros(40, 40)  # matrix[i, j] = sum of the weights of the arcs from j to i
    for i in range(40):
        for arc in range(int(start[i]), int(start[i] + count[i])):
            matrix[i, source[arc]] += 1 if weight is None else weight[arc]
    there = [None if each is None else each.to(device) for each in (x, source, weight, start, count)]
    torch.testing.assert_close(backend.add_up(*there).cpu(), matrix @ x, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(backend.add_up_back(*there).cpu(), matrix.T @ x, rtol=1e-4, atol=1e-4)
    share, into = torch.rand(40, 1, generator=generator), torch.randn(40, width, generator=generator)
    found = backend.add_up(*there, share.to(device)).cpu()
    torch.testing.assert_close(found, share * (matrix @ x), rtol=1e-4, atol=1e-4)
    found = backend.add_up_back(*there, share.to(device), into.clone().to(device)).cpu()
    torch.testing.assert_close(found, into + matrix.T @ (share * x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_sums_of_listed_rows_and_their_gradient(device):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(13, 8, generator=generator).to(device).requires_grad_()
    index = torch.randint(13, (200,), generator=generator).to(device)
    start = torch.tensor([0, 0, 30, 31, 100, 200]).to(device)
    found = backend.add_listed(table, index, start)
    expected = torch.stack([table[index[low:high]].sum(0) for low, high in pairwise(start.tolist())])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    factor = torch.randn(5, 8, generator=generator).to(device)
    gradients = (torch.autograd.grad((each * factor).sum(), table)[0] for each in (found, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", [5, 64])
def test_add_silu(device, width):
    x, y = torch.randn(2, 100, width, generator=torch.Generator().manual_seed(0)).to(device)
    torch.testing.assert_close(backend.add_silu(x, y), x + y * torch.sigmoid(y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_convolutions_and_their_gradients(device, symmetric):
    """On a CPU this is the reference, whose parts are compared with PyG in `tests/nn/test_mean.py`."""
    torch.manual_seed(0)
    graph = PackedGraph.from_multiplex(random_multiplex(5), device)
    nothing = HiddenEdges(torch.zeros(0, 2, dtype=torch.long).to(device), torch.zeros(0, dtype=torch.long).to(device))
    block = graph.block(torch.tensor([0, 2]).to(device), torch.tensor([0, 0]).to(device), nothing)
    if not symmetric:
        keep = (torch.rand(block.edge_index.shape[1]) < 0.5).to(device)
        block = replace(block, edge_index=block.edge_index[:, keep], symmetric=False)
    conv, mean = MeanConv(8, 8).to(device), Mean.of(block)
    x, upstream = torch.randn(2, len(block.key), 8).to(device)
    x.requires_grad_()
    size = None if symmetric else len(x) // 2
    found, expected = add_convolution(x, mean, conv, size), (x + torch.nn.functional.silu(conv(x, mean)))[:size]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    upstream = upstream[: len(found)]
    for each in zip(
        *(torch.autograd.grad(y, [x, *conv.parameters()], upstream) for y in (found, expected)), strict=True
    ):
        torch.testing.assert_close(*each, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", [3, 16, 64])
def test_adapt_and_its_gradients(device, width):
    generator = torch.Generator().manual_seed(0)
    x, table = torch.randn(200, width, generator=generator), torch.randn(5, 2, width, generator=generator)
    x, table = (each.to(device).requires_grad_() for each in (x, table))
    index = torch.randint(5, (200,), generator=generator).to(device)
    index[20:160] = 3  # a long run of equal rows
    centred = x - x.mean(1, keepdim=True)
    scaled = centred / (centred.square().mean(1, keepdim=True) + tables.EPS).sqrt()
    expected = scaled * (1 + table[index, 0]) + table[index, 1]
    torch.testing.assert_close(found := backend.adapt(x, table, index), expected, rtol=1e-4, atol=1e-5)
    factor = torch.randn(200, width, generator=generator).to(device)
    for each in zip(*(torch.autograd.grad((y * factor).sum(), (x, table)) for y in (found, expected)), strict=True):
        torch.testing.assert_close(*each, rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
@pytest.mark.parametrize("directed", [False, True])
def test_common_neighbours(monkeypatch, directed):
    mx = random_multiplex(0, num_nodes=60, num_edges=2500, directed=directed)
    lists = PackedGraph.from_multiplex(mx, "cuda").both
    rows = torch.randint(lists.missing + 1, (2, 3000), generator=torch.Generator().manual_seed(0)).cuda()
    found, sums = find_common(lists, *rows), shared_sums(lists, *rows)
    listed, same = list_common(lists, *rows)
    torch.testing.assert_close(listed, sums)
    assert all(torch.equal(*each) for each in zip(same, found, strict=True))
    monkeypatch.setattr(choice, "TRITON", False)
    for here, expected in zip(found, find_common(lists, *rows), strict=True):
        assert torch.equal(here, expected)
    torch.testing.assert_close(sums, shared_sums(lists, *rows), rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
def test_weighted_sums_over_common_neighbours(monkeypatch):
    edges = EdgeTensors.of(random_multiplex(0, num_nodes=60, num_edges=2500), "cuda")
    graph = PackedGraph.from_edges(edges, union=True)
    row = graph.both.rows(torch.full((60,), graph.num_plain).cuda(), torch.arange(60).cuda())
    pairs = row[torch.randint(60, (2, 3000), generator=torch.Generator().manual_seed(0)).cuda()]
    strength = torch.rand(graph.both.missing + 1, generator=torch.Generator().manual_seed(1)).cuda() + 1
    found = weighted_columns(graph.both, *pairs, strength)
    monkeypatch.setattr(choice, "TRITON", False)
    expected = weighted_columns(graph.both, *pairs, strength)
    assert expected[:, 3].max() > expected[:, 0].max()  # some edges are in several layers
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
@pytest.mark.parametrize("hidden", [False, True])
def test_columns_of_pairs(monkeypatch, hidden):
    graph = PackedGraph.from_multiplex(random_multiplex(0, num_nodes=60, num_edges=2500), "cuda")
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(60, (3000, 2), generator=generator).cuda()
    layers = torch.randint(graph.num_layers, (3000, 3), generator=generator).cuda()
    row = graph.both.rows(layers[:, 0].repeat(2), pairs.T.reshape(-1)).view(2, -1)

    def look():
        others, there = backend.other_columns(graph.both, graph.layer_rows, pairs, row, layers[:, 1:], hidden=hidden)
        rows = row.repeat_interleave(2, 1)
        return backend.own_columns(graph.both, pairs, row), others, backend.cross_columns(graph.both, rows, there)

    found = look()
    monkeypatch.setattr(choice, "TRITON", False)
    for each in zip(found, look(), strict=True):
        torch.testing.assert_close(*each, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
def test_columns_of_positions(monkeypatch):
    graph = PackedGraph.from_multiplex(random_multiplex(0, num_nodes=100, num_edges=2500), "cuda")
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(100, (3000, 2), generator=generator).cuda()
    layer = torch.randint(graph.num_layers, (3000,), generator=generator).cuda()
    row = graph.both.rows(layer.repeat(2), pairs.T.reshape(-1)).view(2, -1)
    positions = Spectral.of(graph)
    found = positions.columns(pairs, layer, row)
    monkeypatch.setattr(choice, "TRITON", False)
    torch.testing.assert_close(found, positions.columns(pairs, layer, row), rtol=1e-3, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
@pytest.mark.parametrize("directed", [False, True])
def test_lists_of_layers_that_have_pairs(monkeypatch, directed):
    mx = random_multiplex(0, num_nodes=12, num_edges=2500, num_layers=50, directed=directed)
    graph = PackedGraph.from_multiplex(mx, "cuda", union=True)
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(12, (1000, 2), generator=generator).cuda()
    ways = [pairs, pairs.flip(1)] if directed else [pairs.sort(1).values]
    key = torch.stack([way[:, 0] * 12 + way[:, 1] for way in ways])
    target = torch.randint(50, (1000,), generator=generator).cuda()
    asked = key, target, graph.pair_key, graph.pair_layer, graph.num_plain
    found = find_lists(*asked)
    assert torch.diff(found[0]).max() > 32  # more than threads
    monkeypatch.setattr(choice, "TRITON", False)
    assert all(torch.equal(*each) for each in zip(found, find_lists(*asked), strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
@pytest.mark.parametrize("num_edges", [400, 2500, 6000])  # with few and with more neighbours than are visited
def test_paths_of_length_3(monkeypatch, num_edges):
    monkeypatch.setattr(paths, "TABLE", 0)
    mx = random_multiplex(0, num_nodes=100, num_edges=num_edges, num_layers=2)
    graph = PackedGraph.from_multiplex(mx, "cuda")
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(100, (3000, 2), generator=generator).cuda()
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    layer = torch.randint(2, (len(pairs),), generator=generator).cuda()
    row = graph.both.rows(layer.repeat(2), pairs.T.reshape(-1)).view(2, -1)
    found = paths.Paths.of(graph).between(pairs, layer, row)
    monkeypatch.setattr(choice, "TRITON", False)
    expected = paths.Paths.of(graph).between(pairs, layer, row)
    assert expected[:, 0].max() > 5
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or not choice.TRITON, reason="no GPU, or no Triton")
@pytest.mark.parametrize("count", [1, 5, 10])
def test_chosen_numbers(monkeypatch, count):
    size = torch.randint(count, 60, (1000,), generator=torch.Generator().manual_seed(0)).cuda()
    found = choose(size, count, torch.Generator("cuda").manual_seed(1))
    monkeypatch.setattr(choice, "TRITON", False)
    assert torch.equal(found, choose(size, count, torch.Generator("cuda").manual_seed(1)))
