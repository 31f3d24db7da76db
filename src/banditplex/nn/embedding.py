"""Embeddings of what a batch needs: the nodes of its pairs, in their target layers and in drawn ones."""

import torch
from torch import Tensor

from banditplex.backend import take
from banditplex.nn import neighbour_sampling
from banditplex.nn.encoder import Encoder
from banditplex.nn.graph import Block, HiddenEdges
from banditplex.nn.neighbour_sampling import near_block
from banditplex.nn.pair_features import PairFeatures
from banditplex.nn.query import Query
from banditplex.nn.view import View


def embed(
    encoder: Encoder, view: View, query: Query, described: tuple[PairFeatures, PairFeatures]
) -> tuple[Block, Tensor]:
    """Return the embeddings of all that is described or wanted, as vertices of a block, the first ones of it."""
    graph, wanted = view.graph, query.wanted
    hidden = query.hidden or HiddenEdges(query.pairs[:0], query.target[:0])
    own, other = described
    layers = [own.layer, own.layer, other.layer, other.layer]
    nodes = [own.pairs.T.reshape(-1), other.pairs.T.reshape(-1)]
    rows = [own.row.reshape(-1), other.row.reshape(-1)]
    if wanted is not None:
        layers, nodes, rows = [*layers, wanted.layer], [*nodes, wanted.node], [*rows, graph.both.rows(*wanted)]
    layer, node, row = torch.cat(layers), torch.cat(nodes), torch.cat(rows)
    if graph.max_arcs <= neighbour_sampling.WHOLE:
        block = graph.block(layer, node, hidden, row)
    else:
        fanout = query.fanout if encoder.averages else None
        between = graph.both.arc_row[torch.cat([own.arc, other.arc])]
        block = near_block(
            graph, layer, node, hidden, row, between=between, depth=encoder.reach, fanout=fanout,
            in_front=graph.device.type == "cuda",
        )  # fmt: skip
    return block, encoder(block, view.features)


def gather(block: Block, embedding: Tensor, *described: PairFeatures) -> tuple[list[Tensor], list[Tensor]]:
    """Return the embeddings of the ends of all pairs described, (2n, width), and of common neighbours, (m, width)."""
    lists = block.graph.both
    layer = [d.layer.repeat(2) for d in described] + [d.layer[d.which] for d in described]
    node = [d.pairs.T.reshape(-1) for d in described] + [lists.neighbour[d.arc] for d in described]
    row = [d.row.reshape(-1) for d in described] + [lists.arc_row[d.arc] for d in described]
    vertex = block.vertex(torch.cat(layer), torch.cat(node), torch.cat(row))
    parts = torch.split(take(embedding, vertex), [len(part) for part in row])
    return list(parts[: len(described)]), list(parts[len(described) :])
