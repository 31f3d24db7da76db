"""Filtered ranking, the measure of knowledge graphs in print: both ends of a test edge are ranked among all nodes.

The destination of a test edge (u, v) is ranked among all nodes w by the score of (u, w), and its source by that of
(w, v). Nodes that make another known edge of the layer, of training, validation or test, are left out (*filtered*):
they are right answers, too. Ties count half (the mean rank). A node is not linked with itself, so u is no candidate.
Bordes et al., Translating Embeddings for Modeling Multi-relational Data, NeurIPS 2013.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.arrays import Floats, Ints
from banditplex.errors import InputError
from banditplex.evaluation.metrics import LayerMetrics, rank_metrics
from banditplex.evaluation.split import FixedSplit
from banditplex.multiplex import Name
from banditplex.registry import check_choice
from banditplex.scorer import LinkScorer

AT = (1, 3, 10)
FILTERED = ("filtered_mrr", *(f"filtered_hits_at_{cut}" for cut in AT))
"""Names of the metrics in rows of `evaluate` and `compare`."""
SCORED_AT_ONCE = 1 << 19  # pairs that are scored at a time


def filtered_ranking(
    scorer: LinkScorer, data: FixedSplit, *, part: str = "test", targets: Sequence[Name] | None = None
) -> LayerMetrics:
    """Return mrr, hits_at_1, hits_at_3 and hits_at_10 of both ends of held-out edges, among all nodes.

    Parameters
    ----------
    scorer
        A method that was fitted to `data.test.train`, which has no held-out edge.
    data
        A split that comes with the data, from `fixed_split`.
    part
        "test", or "valid" to choose settings.
    targets
        Layers whose edges are ranked; None: all that have some.

    Returns metrics of each layer, of all ends together (`pooled`, as in print), and means over layers. Memory is that
    of half a million pairs.
    """
    check_choice("part", part, data._fields)
    asked = getattr(data, part)
    mx, held = asked.train, asked.label == 1
    layers = np.unique(asked.layer[held]) if targets is None else [mx.layer_index(name) for name in targets]
    found = {}
    for layer in layers:
        pairs = asked.pairs[held & (asked.layer == layer)]
        if len(pairs):
            known = data.known_edges(int(layer))
            ends = (_rank(scorer, mx.node_names, mx.layer_names[layer], pairs, known, end) for end in (1, 0))
            found[mx.layer_names[layer]] = np.concatenate(list(ends))
    if not found:
        raise InputError(f"Expected a held-out edge to rank in {part}, got none.")
    by_layer = {name: rank_metrics(rank, AT) for name, rank in found.items()}
    mean = {name: float(np.mean([row[name] for row in by_layer.values()])) for name in next(iter(by_layer.values()))}
    return LayerMetrics(by_layer, rank_metrics(np.concatenate(list(found.values())), AT), mean)


def filtered_ranks(score: ArrayLike, own: ArrayLike, left_out: ArrayLike) -> Floats:
    """Return the mean rank (q,) of one candidate in each row of scores (q, n).

    It is 1 + the number of others with a higher score + half the number of others with the same. Parameters: the index
    `own` (q,) of the candidate that is ranked; `left_out` (q, n), which of the others are not counted.

    >>> filtered_ranks([[0.9, 0.5, 0.5, 0.1]], [1], [[True, False, False, False]])
    array([1.5])
    """
    values, others = np.asarray(score), ~np.asarray(left_out, np.bool_)
    index = np.asarray(own)[:, None]
    truth = np.take_along_axis(values, index, 1)
    np.put_along_axis(others, index, False, 1)
    return np.asarray(1 + ((values > truth) & others).sum(1) + ((values == truth) & others).sum(1) / 2)


def _rank(scorer: LinkScorer, names: NDArray, layer: Name, pairs: Ints, known: Ints, end: int) -> Floats:  # type: ignore[type-arg]
    """Return the rank (n,) of one end (1: the destination) of edges (n, 2) of a layer whose known edges are (m, 2)."""
    kept, row = np.unique(pairs[:, 1 - end], return_inverse=True)  # edges that share the other end share their scores
    size, rank = max(SCORED_AT_ONCE // len(names), 1), np.empty(len(pairs))
    for start in range(0, len(kept), size):
        nodes = kept[start : start + size]
        grid = np.indices((len(nodes), len(names))).reshape(2, -1)
        asked = np.stack([nodes[grid[0]], grid[1]], 1)
        two, score = asked[:, 0] != asked[:, 1], np.zeros(len(asked))  # 0 for a node with itself
        score[two] = scorer.score_pairs(names[asked[two][:, :: 1 if end else -1]], layer)
        if not np.isfinite(score).all():
            raise InputError(f"Expected finite scores, got {score[~np.isfinite(score)][0]} in layer {layer!r}.")
        table, left_out = score.reshape(-1, len(names)), np.zeros((len(nodes), len(names)), np.bool_)
        near = known[np.isin(known[:, 1 - end], nodes)]
        left_out[np.searchsorted(nodes, near[:, 1 - end]), near[:, end]] = True
        left_out[np.arange(len(nodes)), nodes] = True
        here = np.flatnonzero((row >= start) & (row < start + size))
        for some in np.array_split(here, -(-len(here) // size)):
            place = row[some] - start
            rank[some] = filtered_ranks(table[place], pairs[some, end], left_out[place])
    return rank
