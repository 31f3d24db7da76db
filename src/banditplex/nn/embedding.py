"""Embeddings of what a batch needs: the nodes of its pairs, in their target layers and in drawn ones."""

import torch
from torch import Tensor

from banditplex.nn import neighbour_sampling
from banditplex.nn.elsewhere import FetchedBlock
from banditplex.nn.encoder import Encoder
from banditplex.nn.graph import Block, HiddenEdges, PackedGraph
from banditplex.nn.kernels import take
from banditplex.nn.neighbour_sampling import Fanout, near_block
from banditplex.nn.pair_features import PairFeatures


def embed(
    encoder: Encoder,
    graph: PackedGraph,
    features: Tensor | None,
    described: tuple[PairFeatures, PairFeatures],
    hidden: HiddenEdges,
    asked: tuple[Tensor, Tensor] | None = None,
    fanout: Fanout | None = None,
) -> tuple[Block | FetchedBlock, Tensor]:
    """Return the embeddings (V, width) of all that is described or asked for, as vertices of a block.

    Parameters as for `MultiplexModel.forward`. Layers that are elsewhere are encoded there.
    """
    origin = graph.origin
    if origin is None or origin.elsewhere is None:
        block = _block(encoder, graph, *described, hidden, asked, fanout)
        return block, encoder(block, features)

    def encode(layer: Tensor, node: Tensor, hidden: HiddenEdges) -> Tensor:
        row = origin.both.rows(layer, node)
        block = _around(encoder, origin, layer, node, hidden, row, row[:0], fanout)
        return take(encoder(block, features), block.vertex(layer, node, row))

    fetched = FetchedBlock.of(graph, described, asked)
    return fetched, origin.elsewhere.embed(origin, fetched.key, hidden, encode)


def _block(
    encoder: Encoder,
    graph: PackedGraph,
    own: PairFeatures,
    other: PairFeatures,
    hidden: HiddenEdges,
    asked: tuple[Tensor, Tensor] | None,
    fanout: Fanout | None,
) -> Block:
    layer = [own.layer, own.layer, other.layer, other.layer]
    node = [own.pairs.T.reshape(-1), other.pairs.T.reshape(-1)]
    row = [own.row.reshape(-1), other.row.reshape(-1)]
    if asked is not None:
        layer, node = [*layer, asked[0]], [*node, asked[1]]
        row = [*row, graph.both.rows(*asked)]
    arcs = torch.cat([own.arc, other.arc])
    return _around(encoder, graph, torch.cat(layer), torch.cat(node), hidden, torch.cat(row), arcs, fanout)


def _around(
    encoder: Encoder,
    graph: PackedGraph,
    layer: Tensor,
    node: Tensor,
    hidden: HiddenEdges,
    row: Tensor,
    arcs: Tensor,
    fanout: Fanout | None,
) -> Block:
    """Return a block with all (layer, node), whose rows are known, and with the nodes that some arcs lead to."""
    if graph.max_arcs <= neighbour_sampling.WHOLE:
        return graph.block(layer, node, hidden, row)
    fanout, between = fanout if encoder.averages else None, graph.both.arc_row[arcs]
    return near_block(graph, layer, node, hidden, row, between=between, depth=encoder.reach, fanout=fanout)


def gather(
    block: Block | FetchedBlock, embedding: Tensor, *described: PairFeatures
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the embeddings of the ends of all pairs described, (2n, width), and of common neighbours, (m, width)."""
    lists = block.graph.both
    layer = [d.layer.repeat(2) for d in described] + [d.layer[d.which] for d in described]
    node = [d.pairs.T.reshape(-1) for d in described] + [lists.neighbour[d.arc] for d in described]
    row = [d.row.reshape(-1) for d in described] + [lists.arc_row[d.arc] for d in described]
    vertex = block.vertex(torch.cat(layer), torch.cat(node), torch.cat(row))
    parts = torch.split(take(embedding, vertex), [len(part) for part in row])
    return list(parts[: len(described)]), list(parts[len(described) :])
