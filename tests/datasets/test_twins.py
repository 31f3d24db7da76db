"""`twins` is fixed to the bit, and its docstring's table is true."""

import hashlib
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from banditplex.datasets.planted import twins

SPLITS = 3


def test_the_edges_are_these_on_every_platform():
    mx = twins()
    assert (mx.num_nodes, mx.num_layers, mx.layer_sizes.tolist()) == (200, 8, [600] * 8)
    edges = np.stack([mx.edge_layer, *mx.edge_index]).astype("<i8").tobytes()
    assert hashlib.sha256(edges).hexdigest() == "3c3ca580941bb68519e8ad8a1befabdb99c83e5feff94c029f3029396d6306d5"


def test_twins_share_480_edges_and_others_few():
    mx = twins()
    edges = {layer: set(map(tuple, mx.edges(layer).T.tolist())) for layer in mx.layer_names}
    for layer, relevant in mx.metadata["relevant"].items():
        for other in set(mx.layer_names) - {layer}:
            shared = len(edges[layer] & edges[other])
            assert shared == 480 if other in relevant else shared < 40  # by chance 600 * 600 / 19900 = 18


def test_one_load_does_not_touch_the_next():
    twins().metadata["relevant"]["a"].append("b")
    assert twins().metadata["relevant"]["a"] == ["a-twin"]


# What a layer is worth


def adjacency(edges, num_nodes):
    matrix = np.zeros((num_nodes, num_nodes))
    matrix[edges[0], edges[1]] = matrix[edges[1], edges[0]] = 1
    return matrix


def features(matrix, pairs):
    """Edge flag, common neighbours, Adamic-Adar, and sum and difference of the logarithms of degrees: (n, 5)."""
    degree = matrix.sum(axis=0)
    weight = 1 / np.log(np.maximum(degree, 2))  # a common neighbour has two neighbours at least
    u, v = pairs.T
    size = np.log1p(degree)
    return np.stack(
        [matrix[u, v], (matrix[u] * matrix[v]).sum(1), (matrix[u] * matrix[v]) @ weight,
         size[u] + size[v], abs(size[u] - size[v])], axis=1,
    )  # fmt: skip


def own_features(matrix, pairs, is_edge, rng):
    """Features of training pairs in their own layer, each fifth of the edges left out in turn: no pair sees itself."""
    rows = np.empty((len(pairs), 4))
    fold = rng.integers(5, size=len(pairs))
    for left_out in range(5):
        u, v = pairs[(fold == left_out) & is_edge].T
        rest = matrix.copy()
        rest[u, v] = rest[v, u] = 0
        rows[fold == left_out] = features(rest, pairs[fold == left_out])[:, 1:]
    return rows


def non_edges(matrix, count, rng):
    u, v = np.triu_indices(len(matrix), 1)
    free = np.flatnonzero(matrix[u, v] == 0)
    chosen = rng.choice(free, count, replace=False)
    return np.stack([u[chosen], v[chosen]], axis=1)


def worth(matrices, target, rng):
    """ROC-AUC with the own layer alone (under the target's own name) and with each other layer."""
    edges = np.argwhere(np.triu(matrices[target]))
    rng.shuffle(edges)
    test, train = np.split(edges, [len(edges) // 5])
    visible = adjacency(train.T, len(matrices[target]))
    pairs = np.concatenate([train, non_edges(visible, len(train), rng)])
    asked = np.concatenate([test, non_edges(matrices[target], len(test), rng)])
    is_edge, truth = np.arange(len(pairs)) < len(train), np.arange(len(asked)) < len(test)
    own, own_asked = own_features(visible, pairs, is_edge, rng), features(visible, asked)[:, 1:]

    def auc(other):
        x, x_asked = own, own_asked
        if other != target:
            x = np.hstack([own, features(matrices[other], pairs)])
            x_asked = np.hstack([own_asked, features(matrices[other], asked)])
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, is_edge)
        return roc_auc_score(truth, model.decision_function(x_asked))

    return {layer: auc(layer) for layer in matrices}


@pytest.fixture(scope="module")
def measured():
    """The table of the docstring: row -> (own, random, right)."""
    mx = twins()
    with threadpool_limits(1):
        table = measure(mx)
    for row, (own, random, right) in table.items():
        print(f"{row:10} {own:.3f} {random:.3f} {right:.3f} {right - random:.3f}")
    return table


def measure(mx):
    matrices = {layer: adjacency(mx.edges(layer), mx.num_nodes) for layer in mx.layer_names}
    rows = {"a, b, c": [], "twins": [], "noise": []}
    for target, relevant in mx.metadata["relevant"].items():
        for split in range(SPLITS):
            value = worth(matrices, target, np.random.default_rng(split))
            own = value.pop(target)
            row = "a, b, c" if len(target) == 1 else "twins" if relevant else "noise"
            rows[row].append((own, np.mean(list(value.values())), value[relevant[0]] if relevant else np.nan))
    return {row: np.mean(values, axis=0) for row, values in rows.items()}


@pytest.mark.slow
def test_the_docstring_says_what_is_measured(measured):
    for row, (own, random, right) in measured.items():
        said = re.search(rf"^ +{row}  +(.*)$", twins.__doc__, re.MULTILINE)[1].split()
        found = [own, random] + ([] if row == "noise" else [right, right - random])
        np.testing.assert_allclose([float(value) for value in said if value != "-"], found, atol=0.006)


@pytest.mark.slow
@pytest.mark.parametrize("row", ["a, b, c", "twins"])
def test_the_right_layer_helps_and_neither_trivially_nor_hopelessly(measured, row):
    own, random, right = measured[row]
    assert right - random > 0.03
    assert 0.6 < own < right - 0.05
    assert right < 0.97
