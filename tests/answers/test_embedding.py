"""Positions of nodes: eigenvectors beside numpy's, embeddings beside what the encoder is given."""

import copy

import numpy as np
import pytest

import banditplex as bx
from banditplex.answers.ranking import positions
from banditplex.nn.ensemble import members_of
from tests.test_predictor import FAST
from tests.training.stacked import stacked


def blocks(num_nodes=64):
    """Return two layers of two dense groups each, and a last node without an edge in the first."""
    rng = np.random.default_rng(0)
    upper = np.array(np.triu_indices(num_nodes, 1))
    parts = []
    for layer in range(2):
        group = (np.arange(num_nodes) >> (5 * (layer == 0))) % 2
        chance = np.where(group[upper[0]] == group[upper[1]], 0.5, 0.05)
        chance[(upper == num_nodes - 1).any(axis=0) & (layer == 0)] = 0
        parts.append(upper[:, rng.random(upper.shape[1]) < chance])
    layers = np.repeat(["a", "b"], [part.shape[1] for part in parts])
    names = [f"n{i}" for i in range(num_nodes)]
    ends = np.concatenate(parts, axis=1)
    return bx.Multiplex.from_edges([names[i] for i in ends[0]], [names[i] for i in ends[1]], layers, node_names=names)


@pytest.mark.parametrize("evidence", ["all", "drawn"])
def test_without_an_encoder_positions_are_leading_eigenvectors(evidence):
    mx = blocks()
    table = bx.LinkPredictor(epochs=1, width=0, evidence=evidence).fit(mx).embed("a")
    assert table.index.tolist() == mx.node_names.tolist()
    assert table.loc["n63"].tolist() == [0.0] * table.shape[1]
    matrix = np.asarray(mx.to_scipy("a").todense())[:63, :63]
    degree = matrix.sum(axis=1)
    scale = 1 / np.sqrt(degree + degree.mean())
    value, vector = np.linalg.eigh(scale[:, None] * matrix * scale)
    lead = np.argsort(-np.abs(value))[:2]  # beyond, eigenvalues are too near each other to tell vectors apart
    for place, column in enumerate(lead.tolist()):
        expected = vector[:, column] * np.sqrt(abs(value[column]))
        found = table.iloc[:63, place].to_numpy()
        assert found * np.sign(found @ expected) == pytest.approx(expected, abs=1e-3)


@pytest.fixture(scope="module")
def encoded():
    """A model of two encoders."""
    with stacked(regression=False, vectors=False):
        return bx.LinkPredictor(**FAST, members=2).fit(blocks())


def test_with_an_encoder_positions_are_its_embeddings(encoded):
    """The input vectors and all weights but the last adaptation are set to 0, so that its shift is left."""
    model = copy.deepcopy(encoded)
    for number, member in enumerate(members_of(model._fitted.model)):
        for name, weight in member.encoder.named_parameters():
            weight.data.zero_()
            if name == "adapt":
                weight.data[1, 1] = number * 4 + weight.new_tensor([1.0, 2.0, 3.0, 4.0])
    table = model.embed("b")
    assert table.columns.tolist() == [f"x{i}" for i in range(8)]
    assert table.to_numpy().tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]] * 64
    assert model.embed("a").to_numpy().tolist() == [[0.0] * 8] * 64


def test_nodes_are_near_each_other_by_the_mean_cosine_of_all_encoders(encoded):
    table, found = encoded.embed("b").to_numpy(), positions(encoded._fitted, "b")[-1]
    products = (found.vectors * found.values) @ found.vectors.T
    for u, v in ((0, 1), (3, 40), (63, 7)):
        cosines = [
            table[u, part] @ table[v, part] / np.linalg.norm(table[u, part]) / np.linalg.norm(table[v, part])
            for part in (slice(0, 4), slice(4, 8))
        ]
        assert products[u, v] == pytest.approx(sum(cosines) / 2, abs=1e-5)
