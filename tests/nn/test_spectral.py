"""Positions of nodes: eigenvectors against numpy, and folds that have not seen the pair."""

import networkx as nx
import numpy as np
import pytest
import torch

from banditplex.backend import choice
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, spectral
from banditplex.nn.spectral import NUM_COLUMNS, RANK, Rows, Spectral, fold_of, leading
from tests.nn.test_graph import all_questions, random_multiplex


def block(size, rng, values):
    """Return a symmetric matrix with given eigenvalues of largest size, all others below .02."""
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    value = np.concatenate([values, rng.uniform(-0.02, 0.02, max(0, size - len(values)))])[:size]
    return basis * value @ basis.T


def as_rows(blocks):
    """Return a block-diagonal matrix as `Rows`, and the block of each row."""
    size = [len(each) for each in blocks]
    first = np.cumsum(size) - size
    column = [start + np.tile(np.arange(n), n) for start, n in zip(first, size, strict=True)]
    value = torch.from_numpy(np.concatenate([each.reshape(-1) for each in blocks])).float()
    width = np.repeat(size, size)
    start = torch.from_numpy(np.cumsum(width) - width)
    return Rows(torch.from_numpy(np.concatenate(column)), start, value), torch.from_numpy(
        np.repeat(np.arange(len(size)), size)
    )


def columns(mx, pairs, layers):
    graph = PackedGraph.from_multiplex(mx)
    row = graph.both.rows(layers.repeat(2), pairs.T.reshape(-1)).view(2, -1)
    return Spectral.of(graph).columns(pairs, layers, row)


def test_leading_eigenvectors_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values = np.array([1, -0.9, 0.8, -0.7, 0.6, 0.5] + [0.4 - 0.01 * i for i in range(RANK - 6)])
    blocks = [block(60, rng, values), block(5, rng, values), block(90, rng, -values), block(1, rng, values)]
    matrix, layer = as_rows(blocks)
    begin = torch.randn(len(layer), RANK + 4, generator=torch.Generator().manual_seed(1))
    found, vectors = leading(matrix, begin, layer, len(blocks))
    for index, dense in enumerate(blocks):
        value, vector = np.linalg.eigh(dense)
        order = np.argsort(-np.abs(value))[:RANK]
        value, vector = value[order], vector[:, order]
        np.testing.assert_allclose(found[index, : len(value)], value, atol=1e-4)
        assert not found[index, len(value) :].abs().gt(1e-6).any()
        mine = vectors[layer == index].numpy()
        best = (mine * found[index].numpy()) @ mine.T
        np.testing.assert_allclose(best, vector * value @ vector.T, atol=1e-3)
        for place in range(min(4, len(value))):  # eigenvalues .1 apart
            assert abs(mine[:, place] @ vector[:, place]) == pytest.approx(1, abs=1e-4)


def test_vectors_are_those_of_the_regularised_adjacency_matrix_without_a_fold():
    # Two communities of 40 nodes: the two leading eigenvalues are far from the rest.
    graph = nx.stochastic_block_model([40, 40], [[0.6, 0.05], [0.05, 0.6]], seed=1)
    mx = Multiplex.from_edges(*np.array(graph.edges).T, [0] * graph.number_of_edges(), num_nodes=80)
    found = Spectral.of(PackedGraph.from_multiplex(mx))
    for fold in range(spectral.SPECTRAL_FOLDS):
        pairs = torch.tensor(list(graph.edges))
        adjacency = np.zeros((80, 80))
        for (u, v), own in zip(pairs.tolist(), fold_of(pairs, 80).tolist(), strict=True):
            adjacency[u, v] = adjacency[v, u] = own != fold
        degree = adjacency.sum(1)
        assert found.degree[fold, :80].tolist() == degree.tolist()
        scale = 1 / np.sqrt(degree + degree.mean())
        value, vector = np.linalg.eigh(adjacency * scale * scale[:, None])
        order = np.argsort(-np.abs(value))
        np.testing.assert_allclose(found.values[fold, 0, :2], value[order[:2]], atol=1e-4)
        for place in range(2):
            assert abs(vector[:, order[place]] @ found.vectors[fold, :80, place].numpy()) == pytest.approx(1, abs=1e-3)
        assert (found.values[fold, 0, :5] != 0).all()  # 80 / 16 vectors
        assert (found.values[fold, 0, 5:] == 0).all()


def test_columns_are_what_vectors_and_values_say():
    found = Spectral.of(PackedGraph.from_multiplex(random_multiplex(1, num_nodes=90, num_layers=1, num_edges=400)))
    pairs, layers, row = torch.tensor([[3, 70]]), torch.tensor([0]), torch.tensor([[3], [70]])
    fold = fold_of(pairs, 90).item()
    value = found.values[fold, 0].double().numpy()
    a, b = (found.vectors[fold, node].double().numpy() * (value != 0) for node in (3, 70))
    size = len(found.vectors[0]) - 1
    four, whole = sum(a[:4] * b[:4] * value[:4]), sum(a * b * value)
    cosine = sum(a * b * abs(value)) / np.sqrt(sum(a * a * abs(value)) * sum(b * b * abs(value)))
    plain = sum((a * b * np.sign(value))[1:]) / np.sqrt(sum(a[1:] ** 2) * sum(b[1:] ** 2))
    root = np.sqrt(found.degree[fold, 3].item() * found.degree[fold, 70].item())
    logs = [np.sign(x) * np.log1p(abs(x)) for x in (four * size, whole * size, whole * root)]
    expected = [logs[0], logs[1], cosine, plain, logs[2]]
    np.testing.assert_allclose(found.columns(pairs, layers, row)[0], expected, rtol=1e-4, atol=1e-5)


def test_folds_do_not_depend_on_direction_and_are_about_equal():
    pairs = torch.combinations(torch.arange(300))
    fold = fold_of(pairs, 300)
    assert torch.equal(fold, fold_of(pairs.flip(1), 300))
    expected = len(pairs) / spectral.SPECTRAL_FOLDS
    assert (torch.bincount(fold) - expected).abs().max() < 5 * np.sqrt(expected)  # 5 standard deviations
    seen = torch.zeros(300, spectral.SPECTRAL_FOLDS).index_put_(
        (pairs.reshape(-1), fold.repeat_interleave(2)), torch.ones(())
    )
    assert seen.all()  # each node has pairs in every fold


@pytest.mark.parametrize("directed", [False, True])
def test_the_edge_of_a_pair_changes_none_of_its_columns_in_whatever_layer(directed):
    mx = random_multiplex(3, num_nodes=40, num_layers=4, num_edges=90, directed=directed)
    edges = [(u, v) for u, v in np.unique(mx.edge_index.T, axis=0).tolist() if u != v]
    for pair in edges[::9]:
        asked, layers = torch.tensor([pair] * 4), torch.arange(4)
        every, own = columns(mx, asked, layers), (np.sort(mx.edge_index.T, 1) == sorted(pair)).all(1)
        assert torch.equal(every, columns(mx.keep_edges(~own), asked, layers))
        first = own & (np.cumsum(own) == 1)
        assert torch.equal(every, columns(mx.keep_edges(~first), asked, layers))


def test_columns_are_symmetric():
    mx = random_multiplex(4, num_nodes=40, num_layers=2, num_edges=200)
    pairs, layers = all_questions(mx)
    torch.testing.assert_close(columns(mx, pairs, layers), columns(mx, pairs.flip(1), layers))


def test_empty_and_tiny_layers_have_columns():
    # Layer 0 is empty, 1 has one edge, 2 a triangle, 3 a loop only.
    mx = Multiplex.from_edges([0, 1, 2, 1, 4], [1, 2, 3, 3, 4], [1, 2, 2, 2, 3], num_nodes=5, layer_names=range(4))
    pairs, layers = all_questions(mx)
    found = columns(mx, pairs, layers)
    assert found.shape == (len(pairs), NUM_COLUMNS)
    assert found.isfinite().all()
    assert not found[(layers == 0) | (layers == 1) | (layers == 3)].any()  # the one edge does not see itself
    nothing = Multiplex.from_edges([0], [0], [0], num_nodes=3)
    assert not columns(nothing, torch.tensor([[0, 1]]), torch.tensor([0])).any()


@pytest.mark.parametrize("installed", [False, True])
def test_products_within_layers_are_those_of_a_plain_loop(monkeypatch, installed):
    monkeypatch.setattr(choice, "NUMBA", installed and choice.NUMBA)
    generator = torch.Generator().manual_seed(0)
    one, other = torch.randn(2, 30, 5, generator=generator)
    layer, matrices = torch.arange(30) // 12, torch.randn(3, 5, 4, generator=generator)
    expected = torch.stack([one[layer == each].double().T @ other[layer == each].double() for each in range(3)])
    torch.testing.assert_close(spectral.gram(one, other, layer, 3), expected, rtol=0, atol=1e-5)
    expected = torch.stack([row @ matrices[number] for row, number in zip(one, layer.tolist(), strict=True)])
    torch.testing.assert_close(spectral.multiply(one, matrices, layer), expected)
