"""The built-in convolution against PyG's, values and gradients."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.nn import GraphConv

from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.mean import Mean
from banditplex.nn.mean_conv import MeanConv
from tests.nn.test_graph import random_multiplex

NOTHING = HiddenEdges(torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, dtype=torch.long))


def whole_block(*, weighted):
    graph = PackedGraph.from_multiplex(random_multiplex(5, weighted=weighted))
    lonely = graph.num_nodes - 1
    return graph.block(torch.tensor([0, 2, 2]), torch.tensor([0, 0, lonely]), NOTHING)


def some_arcs(block, keep):
    """Return a block without some of its arcs, so that not every arc has its reverse."""
    weight = None if block.weight is None else block.weight[keep]
    return replace(block, edge_index=block.edge_index[:, keep], weight=weight, symmetric=False)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_mean_convolution_is_that_of_pyg(weighted, share):
    torch.manual_seed(0)
    block = whole_block(weighted=weighted)
    if share < 1:
        block = some_arcs(block, torch.rand(block.edge_index.shape[1]) < share)
    fast, plain = MeanConv(4, 4), GraphConv(4, 4, aggr="mean")
    plain.load_state_dict(fast.state_dict())
    x, upstream = torch.randn(2, len(block.key), 4)
    x.requires_grad_()
    found, expected = fast(x, Mean.of(block)), plain(x, block.edge_index, edge_weight=block.weight)
    torch.testing.assert_close(found, expected)
    found, expected = (
        torch.autograd.grad(y, [x, *conv.parameters()], upstream) for y, conv in ((found, fast), (expected, plain))
    )
    torch.testing.assert_close(found, expected)


def test_both_ways_of_adding_up_backwards_agree():
    block = whole_block(weighted=True)
    x = torch.randn(len(block.key), 3)
    one, other = Mean.of(block), Mean.of(replace(block, symmetric=False))
    torch.testing.assert_close(one.back(x), other.back(x))
