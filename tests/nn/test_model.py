"""The network: what it may see, what it may touch, and that encoders of any kind fit in."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.nn import ChebConv, GATConv, GINConv, GraphConv, SGConv

from banditplex.multiplex import Multiplex
from banditplex.nn import HiddenEdges, MultiplexModel, encoder
from banditplex.nn.encoder import CONVOLUTIONS, make_convolution
from banditplex.nn.heads import PairInteraction
from banditplex.nn.query import Query
from banditplex.nn.view import pack
from banditplex.pairs.visibility import Visibility
from tests.nn.test_graph import random_multiplex
from tests.quick import every
from tests.refusals import refuses


def make_model(mx, *, width=8, conv="sage", seed=0, hide="edge", evidence=False):
    torch.manual_seed(seed)
    model = MultiplexModel(
        num_nodes=mx.num_nodes, num_layers=mx.num_layers, num_node_features=0,
        visibility=Visibility(hide, mx.directed, evidence), width=width, depth=2, conv=conv, hidden_units=4,
    )  # fmt: skip
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.5)
    return model


def without(mx, layer, pair):
    keep = ~((mx.edge_layer == layer) & (pair == mx.edge_index.T).all(1))
    source, destination = mx.edge_index[:, keep]
    return Multiplex.from_indices(
        source, destination, mx.edge_layer[keep], node_names=mx.node_names, layer_names=mx.layer_names,
        directed=mx.directed, weight=None if mx.weight is None else mx.weight[keep],
    )  # fmt: skip


def view_of(mx, model):
    return pack(mx, "cpu", model.visibility)


@pytest.mark.parametrize(("directed", "conv"), every(2, [False, True], ["sage", "gcn", GATConv]))
def test_the_pairs_own_edge_changes_nothing_in_the_target_layer(conv, directed):
    mx = random_multiplex(5, directed=directed)
    model = make_model(mx, conv=conv)
    edges = [pair for pair in mx.edges(1).T.tolist() if pair[0] != pair[1] and pair[::-1] not in mx.edges(1).T.tolist()]
    target, layers = torch.tensor([1]), torch.tensor([[0, 2]])
    for pair in edges[:4]:
        asked = torch.tensor([pair])
        seen = model(view_of(mx, model), Query(asked, target, layers, hidden=HiddenEdges(asked, target)))
        unseen = model(view_of(without(mx, 1, pair), model), Query(asked, target, layers))
        torch.testing.assert_close(seen.total, unseen.total)


def test_undirected_scores_do_not_depend_on_the_order_of_a_pair():
    mx = random_multiplex(6)
    model = make_model(mx)
    query = Query(
        torch.tensor([[0, 1], [3, 7], [2, 11]]), torch.zeros(3, dtype=torch.long), torch.tensor([[1], [2], [1]])
    )
    one, other = (model(view_of(mx, model), each) for each in (query, replace(query, pairs=query.pairs.flip(1))))
    torch.testing.assert_close(one.total, other.total)


def test_a_flat_batch_of_targets_equals_one_by_one():
    mx = random_multiplex(7)
    model = make_model(mx)
    pairs, target = torch.tensor([[0, 1], [3, 7], [2, 11], [4, 5]]), torch.tensor([0, 2, 1, 1])
    layers = torch.tensor([[1, 2], [0, 1], [2, 0], [0, 2]])
    view = view_of(mx, model)
    together = model(view, Query(pairs, target, layers))
    for i in range(4):
        at = slice(i, i + 1)
        alone = model(view, Query(pairs[at], target[at], layers[at]))
        torch.testing.assert_close(together.total[at], alone.total)


def test_layers_neither_target_nor_drawn_are_not_encoded_and_get_no_gradient():
    mx = random_multiplex(8, num_layers=9, num_edges=200)
    model = make_model(mx)
    pairs, target, layers = torch.tensor([[0, 1], [2, 3]]), torch.tensor([4, 4]), torch.tensor([[1], [1]])
    logits = model(view_of(mx, model), Query(pairs, target, layers, hidden=HiddenEdges(pairs, target)))
    assert set(logits.block.layer.tolist()) == {1, 4}
    active = sum(len(mx.active_nodes(layer)) for layer in (1, 4))
    assert len(logits.embedding) - active <= 4  # further vertices only for nodes of the pairs
    logits.total.sum().backward()
    touched = {
        name: set(np.flatnonzero(weight.grad.reshape(9, -1).abs().sum(1).numpy()).tolist())
        for name, weight in model.named_parameters()
        if len(weight) == 9
    }
    assert touched == {"encoder.adapt": {1, 4}, "own.of_layer": {4}, "other.of_layer": {1}, "other.of_target": {4}}


def test_base_embeddings_of_many_nodes_are_not_learnt(monkeypatch):
    mx = random_multiplex(8)
    for limit, learnt in ((12, True), (11, False)):
        monkeypatch.setattr(encoder, "MAX_NODE_EMBEDDINGS", limit)
        model = make_model(mx)
        assert dict(model.named_parameters())["encoder.input.weight"].requires_grad is learnt
        assert model.state_dict()["encoder.input.weight"].shape == (12, 8)


@pytest.mark.slow
def test_products_of_random_vectors_estimate_what_neighbour_lists_share(monkeypatch):
    """Vectors with independent entries of variance 1 / width: E |v|^2 = 1, E <v, w> = 0.

    Means over 10 neighbours each, 4 of them shared, have the product 4 / 100 in expectation. Its variance: 4 squares
    (2 / width each), 84 products that come once (1 / width) and 6 that come twice (4 / width), all over 100^2, are
    116 / (10^4 width); 5 deviations are .006.
    """
    monkeypatch.setattr(encoder, "MAX_NODE_EMBEDDINGS", 0)
    vectors = make_model(random_multiplex(0, num_nodes=16), width=8192).encoder.input.weight
    torch.nn.init.normal_(vectors, std=8192**-0.5)
    assert (vectors[:10].mean(0) @ vectors[6:].mean(0)).item() == pytest.approx(0.04, abs=0.006)


def test_unknown_convolutions_are_answered_with_the_known_ones():
    for conv in ("gat", None, GATConv(8, 8)):
        with refuses("conv", *CONVOLUTIONS, repr(conv)):
            make_model(random_multiplex(), conv=conv)


@pytest.mark.parametrize(
    ("conv", "values"),
    [
        (ChebConv, ["conv(8, 8)", "TypeError", "'ChebConv'", "'K'"]),
        (torch.nn.Linear, ["(x, edge_index)", "TypeError", "'Linear'"]),
        (lambda a, b: None, ["TypeError", "'<lambda>'", None]),
        (partial(GATConv, heads=2), ["'partial'", "conv(8, 8)", (16,)]),
    ],
)
def test_convolutions_that_do_not_fit_are_refused(conv, values):
    with refuses(*values):
        make_model(random_multiplex(), conv=conv)


@pytest.mark.parametrize(
    ("conv", "hops"),
    [
        (GATConv, 1),
        (lambda a, b: GINConv(torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b))), 1),
        (partial(SGConv, K=2), 2),
        (partial(ChebConv, K=4), 3),
    ],
)
def test_an_encoder_knows_how_far_its_convolutions_see(conv, hops):
    assert make_model(random_multiplex(), conv=conv).encoder.reach == 2 * hops + 1


def test_trying_a_convolution_leaves_no_trace():
    class Counting(GATConv):
        def __init__(self, width_in, width_out):
            super().__init__(width_in, width_out)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x, edge_index):
            self.calls += 1
            return torch.nn.functional.dropout(super().forward(x, edge_index))

    torch.manual_seed(3)
    made = make_convolution(Counting, 4)
    after = torch.rand(3)
    torch.manual_seed(3)
    expected = Counting(4, 4)
    assert torch.equal(torch.rand(3), after)
    assert made.calls == 0
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), expected.parameters(), strict=True))


@pytest.mark.parametrize("directed", [False, True])
def test_embeddings_count_nothing_before_training(directed):
    """The last weights and their bias are 0, so that a network begins with the features alone."""
    asked = SimpleNamespace(which=torch.tensor([0, 2]), degree=torch.tensor([2.0, 3.0]))
    part = PairInteraction(4, 6, directed)
    assert part(asked, torch.randn(6, 4), torch.randn(2, 4)).tolist() == [0, 0, 0]


def encoder_of(**options):
    sizes = {"num_nodes": 2_000, "num_layers": 1, "num_features": 0, "width": 16, "depth": 1, "conv": "sage"}
    return encoder.Encoder(**sizes | options)


def test_embeddings_of_nodes_begin_with_a_length_of_1():
    """On average: 16 numbers of standard deviation 1 / sqrt(16)."""
    weight = encoder_of().input.weight
    assert weight.std().item() == pytest.approx(0.25, rel=0.03)


def test_one_convolution_of_ones_own_looks_one_step_away_and_at_degrees():
    assert encoder_of(conv=GraphConv).reach == 2
