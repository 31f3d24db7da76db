"""Hard negatives: for each positive (u, v), pairs (u, w) and (w, v) that look like links and are none.

The manner of HeaRT (Li et al., Evaluating Graph Neural Networks for Link Prediction: Current Pitfalls and New
Benchmarking, NeurIPS 2023), carried over to many layers. How much a pair looks like a link is measured on the union
of all layers of the *training* graph, by two heuristics:

- resource allocation, sum over common neighbours z of 1 / degree(z);
- personalised PageRank from the end that is kept, restart probability 0.15.

So a pair that is an edge of other layers and not of its own is among the hardest. Half of a positive's negatives keep
u, half keep v (of an odd number u has one more). For each end, candidates are ranked by both heuristics; the better of
the two ranks decides (a score of 0 has none), then chance. Where fewer candidates than asked for have a score above 0,
the rest are pairs with that end and any node; where there are no more of those, any pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditplex.multiplex import Multiplex
from banditplex.pairs import negatives
from banditplex.pairs.known import Bools, Ints, KnownPairs, merged
from banditplex.pairs.negatives import even_pairs, fill_rows, in_order

RESTART = 0.15
STEPS = 20
"""Steps of the walks behind PageRank; those that go on longer have probability 0.85 ** 21 = 0.03."""

LEAST = 1e-4
"""Walks that arrive somewhere with a smaller probability are given up: what keeps PageRank local."""

DECIMALS = 10
"""Scores that agree so far are level."""

BUDGET = 1 << 21
"""About as many candidates are ranked at once."""

Floats = NDArray[np.float64]


class Candidates(NamedTuple):
    """Nodes that may be linked with an anchor: one entry per candidate, anchors rising."""

    anchor: Ints  # (c,) position of the anchor
    node: Ints  # (c,)
    allocation: Floats  # (c,) resource allocation
    pagerank: Floats  # (c,)


def hard_negatives(
    train: Multiplex, layer: Ints, positives: Ints, each: int, known: KnownPairs, rng: np.random.Generator
) -> Ints:
    """Return `each` hard negatives (p, each, 2) of every positive (p, 2) in its layer (p,).

    Parameters
    ----------
    train
        The training graph, on whose union candidates are ranked.
    layer, positives
        Layer indices (p,) and node indices (p, 2).
    each
        Number of negatives per positive.
    known
        The pairs that are no negatives, those of the full multiplex.
    rng
        Where chance comes from.
    """
    half = each - each // 2
    ends = np.concatenate([positives[:, 0], positives[:, 1]])
    where = np.zeros_like(layer) if known.everywhere else layer
    items, place = np.unique(ends * train.num_layers + np.tile(where, 2), return_inverse=True)
    nearest = nearest_nodes(train, *np.divmod(items, train.num_layers), half, known, rng)
    source, destination = place.reshape(2, -1)
    pairs = np.empty((len(positives), each, 2), np.int64)
    rows = max(1, negatives.CHUNK // max(each, 1))
    for start in range(0, len(positives), rows):
        block = slice(start, start + rows)
        found = np.concatenate([nearest[source[block]], nearest[destination[block], : each // 2]], axis=1)
        pairs[block] = _complete(train, layer[block], positives[block], found, half, known, rng)
    return pairs


def _complete(
    train: Multiplex,
    layer: Ints,
    positives: Ints,
    found: Ints,
    half: int,
    known: KnownPairs,
    rng: np.random.Generator,
) -> Ints:
    """Return the negatives (p, m, 2) that put nodes `found` (p, m) in place of one end; -1 stands for any node."""
    num_rows, each = found.shape
    even = even_pairs(train)

    def corrupt(slot: Ints, node: Ints) -> Ints:
        kept = positives[slot // each]
        first = slot % each < half
        return in_order(np.where(first, kept[:, 0], node), np.where(first, node, kept[:, 1]), train)

    slots = np.arange(num_rows * each)
    pairs = corrupt(slots, found.reshape(-1))
    keys = np.where(found.reshape(-1) < 0, -1, known.keys(layer[slots // each], pairs))
    return fill_rows(
        pairs.reshape(num_rows, each, 2),
        keys.reshape(num_rows, each),
        layer,
        known,
        lambda slot: corrupt(slot, rng.integers(0, train.num_nodes, len(slot))),
        rng,
        otherwise=lambda slot: even(layer[slot // each], rng),
    )


def nearest_nodes(
    train: Multiplex, node: Ints, layer: Ints, count: int, known: KnownPairs, rng: np.random.Generator
) -> Ints:
    """Return for each node (i,) and layer (i,) the `count` hardest nodes (i, count), -1 where there are no more.

    Parameters: as for `hard_negatives`; nodes must rise. Never the node itself, nor one it is known to be linked with.
    """
    union = union_matrix(train)
    degree = union.sum(axis=1)
    anchors, first, items = np.unique(node, return_index=True, return_counts=True)
    enough = count + known.partners()[anchors]
    work = np.cumsum(items * ((union[anchors] @ degree) + min(train.num_nodes, 4096)))
    nearest = np.empty((len(node), count), np.int64)
    for part in np.split(np.arange(len(anchors)), np.flatnonzero(np.diff(work // BUDGET)) + 1):
        found = _shorten(rank_candidates(union, degree, anchors[part]), anchors[part], enough[part])
        span = slice(first[part[0]], first[part[-1]] + items[part[-1]])
        nearest[span] = _choose(found, node[span], layer[span], items[part], count, known, rng)
    return nearest


def union_matrix(mx: Multiplex) -> Any:
    """Return the symmetric 0/1 matrix (n, n) of which nodes are linked in any layer, self loops left out."""
    from scipy.sparse import csr_array

    source, destination = mx.edge_index[:, mx.edge_index[0] != mx.edge_index[1]]
    ends = np.concatenate([source, destination]), np.concatenate([destination, source])
    matrix = csr_array((np.ones(len(ends[0])), ends), shape=(mx.num_nodes, mx.num_nodes))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def rank_candidates(union: Any, degree: Floats, anchors: Ints) -> Candidates:
    """Return every node with a score above 0 for the anchors (a,), with both scores."""
    inverse = 1 / np.maximum(degree, 1)
    allocation = _entries((union[anchors] * inverse) @ union)
    pagerank = _entries(personalised_pagerank(union, inverse, anchors))
    keys = merged(allocation[0], pagerank[0])
    values = []
    for key, value in (allocation, pagerank):
        column = np.zeros(len(keys))
        column[np.searchsorted(keys, key)] = np.round(value, DECIMALS)
        values.append(column)
    anchor, node = np.divmod(keys, union.shape[1])
    return Candidates(anchor, node, *values)


def personalised_pagerank(union: Any, inverse: Floats, anchors: Ints) -> Any:
    """Return the sparse matrix (a, n) of where walks from the anchors (a,) are when they stop.

    A walk stops before each step with probability `RESTART`. Sparse all along: what falls below `LEAST` is dropped.
    """
    from scipy.sparse import csr_array

    size = len(anchors)
    here = csr_array((np.ones(size), (np.arange(size), anchors)), shape=(size, union.shape[0]))
    stopped = RESTART * here
    for _ in range(STEPS):
        here = ((1 - RESTART) * here * inverse).tocsr() @ union
        here.data[here.data < LEAST] = 0
        here.eliminate_zeros()
        stopped = stopped + RESTART * here
    return stopped


def _entries(matrix: Any) -> tuple[Ints, Floats]:
    """Return the entries of a sparse matrix: row x columns + column, rising, and value."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    row = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return row * matrix.shape[1] + matrix.indices, matrix.data


def _shorten(found: Candidates, anchors: Ints, enough: Ints) -> Candidates:
    """Leave out anchors themselves, and what is not among the `enough` (a,) best by either score."""
    found = _take(found, found.node != anchors[found.anchor])
    best = np.minimum(*(_ranks(found.anchor, score) for score in (found.allocation, found.pagerank)))
    return _take(found, best <= enough[found.anchor])


def _take(found: Candidates, keep: Bools) -> Candidates:
    return Candidates(found.anchor[keep], found.node[keep], found.allocation[keep], found.pagerank[keep])


def _choose(
    found: Candidates, node: Ints, layer: Ints, items: Ints, count: int, known: KnownPairs, rng: np.random.Generator
) -> Ints:
    """Return the `count` best candidates (i, count) of each node (i,) in its layer; anchor a comes `items[a]` times."""
    sizes = np.bincount(found.anchor, minlength=len(items))
    start = np.repeat(np.cumsum(sizes) - sizes, items)
    length = np.repeat(sizes, items)
    item = np.repeat(np.arange(len(node)), length)
    place = np.arange(len(item)) - np.repeat(np.cumsum(length) - length, length) + start[item]
    other = found.node[place]
    free = ~known.has(layer[item], np.stack([node[item], other], 1))
    item, other, place = item[free], other[free], place[free]
    best = np.minimum(*(_ranks(item, score[place]) for score in (found.allocation, found.pagerank)))
    order = np.lexsort((rng.random(len(item)), best, item))
    item, other = item[order], other[order]
    column = np.arange(len(item)) - np.searchsorted(item, np.arange(len(node)))[item]
    chosen = np.full((len(node), count), -1, np.int64)
    chosen[item[column < count], column[column < count]] = other[column < count]
    return chosen


def _ranks(item: Ints, score: Floats) -> Ints:
    """Return 1 + how many of the same item (c,), rising, score higher; far more than any rank for a score of 0."""
    order = np.lexsort((-score, item))
    new = np.ones(len(item), np.bool_)
    new[1:] = (np.diff(item[order]) != 0) | (np.diff(score[order]) != 0)
    level = np.flatnonzero(new)[np.cumsum(new) - 1]
    rank = np.empty(len(item), np.int64)
    rank[order] = 1 + level - np.searchsorted(item, item[order])
    return np.where(score > 0, rank, np.iinfo(np.int64).max)
