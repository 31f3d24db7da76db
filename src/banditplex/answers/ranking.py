"""The most likely new links of a layer, and positions of its nodes: embeddings, or leading eigenvectors."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.ensemble import members_of
from banditplex.nn.spectral import Spectral
from banditplex.pairs.asked import as_node, as_pairs
from banditplex.pairs.candidates import SIZE, WAYS, Positions, find_candidates
from banditplex.pairs.known import PairSpace, pair_keys, repeated
from banditplex.prediction import FittedModel
from banditplex.terminal import duration

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


Progress = Callable[[int, int], Any]  # is told how many pairs have been ranked, and of how many
Note = Callable[[str], Any]  # is told what is going to be ranked, and how long it takes, if there are many pairs
EXACT = 1 << 22  # up to so many pairs, all are ranked unless candidates are asked for
RANKED_AT_ONCE = 1 << 17  # pairs that are scored at once
SAMPLE = 1 << 15  # pairs that are scored to estimate how long all take


def recommend(
    fitted: FittedModel, layer: Name, *, links_of: Multiplex, top: int = 20, node: Name | None = None,
    candidates: ArrayLike | None = None, exact: bool | None = None, size: int = SIZE, prior: float | None = None,
    note: Note | None = None, on_progress: Progress | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the most likely new links of a layer, as `LinkPredictor.recommend` says.

    If nodes have types, the edges of `links_of` show which of them a layer links. `size` is that of `plan`.
    """
    if not isinstance(top, int | np.integer) or top < 0:
        raise InputError(f"Expected top to be an integer of at least 0, got {top!r}.")
    if node is not None and candidates is not None:
        raise InputError("Expected either node= or candidates=, got both.")
    mx, assumed = fitted.mx, fitted.check_prior(prior, layer)
    fitted.instance(layer)  # refuses
    if candidates is not None:
        pairs = distinct(as_pairs(mx, candidates), mx)
        chosen = Plan(_chunks(pairs), len(pairs), len(pairs), "pairs that were given")
    elif node is not None:
        chosen = of_node(mx, mx.layer_index(layer), as_node(mx, node), PairSpace(mx, links_of=links_of))
    else:
        chosen = plan(fitted, layer, PairSpace(mx, links_of=links_of), exact, size, note)
    return rank(fitted, layer, chosen, top=top, prior=assumed, on_progress=on_progress)


class Plan(NamedTuple):
    """Which pairs are ranked."""

    chunks: Iterator[Ints]
    ranked: int  # at most
    possible: int
    how: str  # in words


def plan(fitted: FittedModel, layer: Name, space: PairSpace, exact: bool | None, size: int, note: Note | None) -> Plan:
    """Choose all pairs of a layer or, beyond `EXACT` unless `exact` decides, candidates: `size` found in each way."""
    mx, index = fitted.mx, fitted.mx.layer_index(layer)
    possible = int(space.num_pairs(ordered=mx.directed)[index])
    every = possible <= EXACT if exact is None else exact
    if note is not None and (possible > EXACT or not every):
        length = duration(estimate(fitted, layer, space) * possible)
        whole = f"all {possible:,} pairs of layer {layer!r}"
        instead = f"candidates; {whole} would take about {length} (exact=True)"
        note(f"ranking {f'{whole}, which takes about {length}' if every else instead}.")
    if every:
        return Plan(space.chunks(index, RANKED_AT_ONCE), possible, possible, "all pairs")
    within = None if mx.node_types is None else space
    found = find_candidates(mx, index, size=size, space=within, positions=positions(fitted, layer))
    pairs = distinct(np.concatenate(list(found.values())), mx)
    ways = [WAYS[way] for way, some in found.items() if len(some)]
    return Plan(_chunks(pairs), len(pairs), possible, f"candidates: pairs {', '.join(ways)}")


def of_node(mx: Multiplex, layer: int, node: int, space: PairSpace) -> Plan:
    """Choose all pairs of a node; in a directed multiplex, those from it."""
    pairs = np.stack([np.full(mx.num_nodes, node), np.arange(mx.num_nodes)], 1)
    pairs = pairs[space.contains(np.full(len(pairs), layer), pairs)]
    return Plan(_chunks(pairs), len(pairs), len(pairs), f"all pairs of node {mx.node_names.item(node)!r}")


def rank(
    fitted: FittedModel, layer: Name, chosen: Plan, *, top: int, prior: float, on_progress: Progress | None = None
) -> pd.DataFrame:
    """Return the `top` pairs of the highest scores that are no edges: source, destination, probability.

    Memory does not grow with the number of pairs ranked. `attrs` has the prior, how pairs were chosen, how many were
    ranked, and how many there are.
    """
    mx, done = fitted.mx, 0
    best, scores = np.empty((0, 2), np.int64), np.empty(0)
    for chunk in chosen.chunks:
        pairs = chunk[~mx.has_edges(chunk, layer)]
        scores = np.concatenate([scores, fitted.logits(pairs, layer)])
        best = np.concatenate([best, pairs])
        keep = np.argsort(-scores, kind="stable")[:top]
        best, scores, done = best[keep], scores[keep], done + len(chunk)
        if on_progress is not None:
            on_progress(done, chosen.ranked)
    source, destination = mx.node_names[best.T]
    probability = fitted.calibration.probability(scores, fitted.instance(layer), prior)
    table = pd.DataFrame({"source": source, "destination": destination, "probability": probability})
    table.attrs |= {"prior": prior, "chosen": chosen.how, "ranked": chosen.ranked, "possible": chosen.possible}
    return table


def estimate(fitted: FittedModel, layer: Name, space: PairSpace) -> float:
    """Return about how many seconds it takes to score a pair of a layer, from a sample of random ones."""
    pairs = space.propose(np.full(SAMPLE, fitted.mx.layer_index(layer)), np.random.default_rng(0))
    fitted.logits(pairs[:2], layer)  # what is computed once
    start = time.perf_counter()
    fitted.logits(pairs, layer)
    return (time.perf_counter() - start) / SAMPLE


def _chunks(pairs: Ints) -> Iterator[Ints]:
    return (pairs[low : low + RANKED_AT_ONCE] for low in range(0, len(pairs), RANKED_AT_ONCE))


def distinct(pairs: Ints, mx: Multiplex) -> Ints:
    """Return pairs (n, 2) without those that come again, the other way round too if undirected."""
    keys = pair_keys(np.zeros(len(pairs), np.int64), pairs, mx.num_nodes, ordered=mx.directed)
    return pairs[~repeated(keys)]
