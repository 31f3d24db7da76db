"""Positions of nodes in a layer: embeddings of the encoder, or leading eigenvectors."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from banditplex.multiplex import Name
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.ensemble import members_of
from banditplex.nn.spectral import Spectral
from banditplex.pairs.candidates import Positions
from banditplex.prediction import FittedModel

Vectors = NDArray[np.float32]


def embed(fitted: FittedModel, layer: Name) -> pd.DataFrame:
    """Return one row per node, named by it: its position in a layer.

    With encoders, these are the embeddings of each network in turn; otherwise the leading eigenvectors of the layer's
    normalised adjacency matrix, each times the root of its eigenvalue's size. Nodes without an edge are then at 0.
    """
    index = fitted.mx.layer_index(layer)
    if fitted.model.encoder is not None:
        vectors = np.concatenate(encoded(fitted, index), axis=1)
    else:
        graph = fitted.view.graph.only(torch.tensor([index], device=fitted.view.device))
        found = spectral_positions(graph, Spectral.of(graph, whole=True), index)
        vectors = (found.vectors * np.sqrt(np.abs(found.values)))[:, found.values != 0]
    columns = [f"x{place}" for place in range(vectors.shape[1])]
    return pd.DataFrame(vectors, index=pd.Index(fitted.mx.node_names, name="node"), columns=columns)


def positions(fitted: FittedModel, layer: Name) -> list[Positions]:
    """Return positions in a layer, in the union and in its panel if the model sees them, and those of the encoder."""
    graph, evidence, index = fitted.view.graph, fitted.view.evidence, fitted.mx.layer_index(layer)
    if evidence is not None:
        pools = [graph.num_plain, *([] if evidence.pool_of is None else [int(evidence.pool_of[index])])]
        found = [spectral_positions(evidence.graph, evidence.spectral, each) for each in dict.fromkeys([index, *pools])]
    else:
        graph = graph.only(torch.tensor([index], device=graph.device))
        found = [spectral_positions(graph, Spectral.of(graph, whole=True), index)]
    members = encoded(fitted, index)
    if members:  # products are means of cosines
        units = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), np.float32(1e-12)) for each in members]
        unit = np.concatenate(units, axis=1)
        found.append(Positions(unit, np.full(unit.shape[1], 1 / len(members), np.float32)))
    return found


def spectral_positions(graph: PackedGraph, spectral: Spectral, layer: int) -> Positions:
    """Return eigenvectors and eigenvalues of a layer, from the first fold; nodes without an edge are at 0."""
    low, high = graph.layer_rows[layer : layer + 2].tolist()
    node = (graph.both.row_key[low:high] % graph.num_nodes).cpu().numpy()
    vectors = np.zeros((graph.num_nodes, spectral.vectors.shape[2]), np.float32)
    vectors[node] = spectral.vectors[0, low:high].cpu().numpy()
    return Positions(vectors, spectral.values[0, layer].cpu().numpy())


@torch.no_grad()
def encoded(fitted: FittedModel, layer: int) -> list[Vectors]:
    """Return the embeddings (num_nodes, width) of all nodes in a layer, of each network; none if it has no encoder."""
    encoders, graph = [member.encoder for member in members_of(fitted.model)], fitted.view.graph
    node = torch.arange(graph.num_nodes, device=graph.device)
    where = torch.full_like(node, layer)
    nothing = HiddenEdges(torch.empty(0, 2, dtype=torch.int64, device=graph.device), node[:0])
    block = graph.block(where, node, nothing)
    vertex, features = block.vertex(where, node), fitted.view.features
    return [encoder(block, features)[vertex].cpu().numpy() for encoder in encoders if encoder is not None]
