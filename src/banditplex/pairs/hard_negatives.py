"""Hard negatives: for each positive (u, v), pairs (u, w) and (w, v) without an edge that look like links.

This extends HeaRT (Li et al., Evaluating Graph Neural Networks for Link Prediction: Current Pitfalls and New
Benchmarking, NeurIPS 2023) to several layers. Two heuristics on the union of all layers of the *training* graph
measure how much a pair looks like a link:

- resource allocation, the sum over common neighbours z of 1 / degree(z);
- personalised PageRank from the kept node (u or v), with restart probability 0.15.

So pairs that are edges of other layers, but not of their own, are among the hardest. Half of the negatives keep u, half
keep v; with an odd number, u has one more. The candidates w of a kept node are ranked by both heuristics, and sorted by
the better of the two ranks, with random order among ties. A score of 0 has no rank. If too few candidates have a
positive score, the other negatives are the kept node and a random node, or, if there are none left, random pairs.
Candidates that their layer may not link, because of their type or as they have no edge there, are left out first.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from banditplex.arrays import Bools, Floats, Ints
from banditplex.multiplex import Multiplex
from banditplex.pairs.candidates import adjacency
from banditplex.pairs.known import KnownPairs, in_order
from banditplex.pairs.negatives import fill_rows, row_blocks, uniform_pairs

RESTART = 0.15
STEPS = 20  # longest random walk in PageRank; longer ones have probability 0.85 ** 21 = 0.03
MIN_PROBABILITY = 1e-4  # walks that reach a node with a smaller probability are dropped, which keeps PageRank sparse
DECIMALS = 10  # scores are rounded to so many decimals before they are compared
BUDGET = 1 << 21  # approximate number of candidates that are ranked at a time


class Candidates(NamedTuple):
    """Candidates w for kept nodes (anchors): one entry per anchor and candidate, sorted by anchor."""

    anchor: Ints  # (c,) index into the array of anchors
    node: Ints  # (c,)
    allocation: Floats  # (c,) resource allocation
    pagerank: Floats  # (c,)


def hard_negatives(
    train: Multiplex, layer: Ints, positives: Ints, each: int, known: KnownPairs, rng: Generator
) -> Ints:
    """Return `each` hard negatives (p, each, 2) of every positive (p, 2) in its layer (p,); `known`: no negatives."""
    half = each - each // 2
    ends = np.concatenate([positives[:, 0], positives[:, 1]])
    space, count = known.space, train.num_layers
    where = np.zeros_like(layer) if known.everywhere and space is None else layer
    where = np.tile(where, 2)
    if space is not None:  # a node has other candidates as a destination than as a source
        where[len(layer) :] += train.num_layers * train.directed
        count *= 1 + train.directed
    items, place = np.unique(ends * count + where, return_inverse=True)
    node, code = np.divmod(items, count)
    reverse, code = np.divmod(code, train.num_layers)
    nearest = nearest_nodes(train, node, code, half, known, rng, reverse=reverse > 0)
    source, destination = place.reshape(2, -1)
    pairs = np.empty((len(positives), each, 2), np.int64)
    for block in row_blocks(len(positives), each):
        found = np.concatenate([nearest[source[block]], nearest[destination[block], : each // 2]], axis=1)
        pairs[block] = _corrupt(train, layer[block], positives[block], found, half, known, rng)
    return pairs


def _corrupt(
    train: Multiplex, layer: Ints, positives: Ints, found: Ints, half: int, known: KnownPairs, rng: Generator
) -> Ints:
    """Return negatives (p, m, 2): positives with one end replaced by `found` (p, m), where -1 is a random node."""
    num_rows, each = found.shape
    uniform = uniform_pairs(train, known.space)

    def replace_end(slot: Ints, node: Ints) -> Ints:
        positive = positives[slot // each]
        keep_first = slot % each < half
        return in_order(np.where(keep_first, positive[:, 0], node), np.where(keep_first, node, positive[:, 1]), train)

    slots = np.arange(num_rows * each)
    pairs = replace_end(slots, found.reshape(-1))
    keys = np.where(found.reshape(-1) < 0, -1, known.keys(layer[slots // each], pairs))
    return fill_rows(
        pairs.reshape(num_rows, each, 2), keys.reshape(num_rows, each), layer, known,
        lambda slot: replace_end(slot, rng.integers(0, train.num_nodes, len(slot))), rng,
        fallback=lambda slot: uniform(layer[slot // each], rng),
    )  # fmt: skip


def nearest_nodes(
    train: Multiplex, node: Ints, layer: Ints, count: int, known: KnownPairs, rng: Generator, reverse: Any = False
) -> Ints:
    """Return the `count` hardest candidates (i, count) of each node (i,) in its layer (i,), -1 if there are no more.

    `node` must be sorted. A node itself and its known neighbours are excluded, and so are pairs that the layer may not
    link: (node, candidate), or where `reverse` (i,) is True, (candidate, node).
    """
    union = adjacency(train, None)
    union.data[:] = 1
    degree = union.sum(axis=1)
    anchors, first, items = np.unique(node, return_index=True, return_counts=True)
    enough = count + known.degrees()[anchors]
    if known.space is not None:
        enough = np.full(len(anchors), train.num_nodes)  # any number of the best may be left out
    backwards = np.broadcast_to(reverse, len(node))
    work = np.cumsum(items * ((union[anchors] @ degree) + min(train.num_nodes, 4096)))
    nearest = np.empty((len(node), count), np.int64)
    for part in np.split(np.arange(len(anchors)), np.flatnonzero(np.diff(work // BUDGET)) + 1):
        found = _prune(score_candidates(union, degree, anchors[part]), anchors[part], enough[part])
        span = slice(first[part[0]], first[part[-1]] + items[part[-1]])
        nearest[span] = _select(found, node[span], layer[span], backwards[span], count, known, rng)
    return nearest


def score_candidates(union: Any, degree: Floats, anchors: Ints) -> Candidates:
    """Return all candidates with a positive score for the anchors (a,), with both scores."""
    inverse = 1 / np.maximum(degree, 1)
    allocation = _entries((union[anchors] * inverse) @ union)
    pagerank = _entries(personalised_pagerank(union, inverse, anchors))
    keys = np.union1d(allocation[0], pagerank[0])
    values = []
    for key, value in (allocation, pagerank):
        column = np.zeros(len(keys))
        column[np.searchsorted(keys, key)] = np.round(value, DECIMALS)
        values.append(column)
    anchor, node = np.divmod(keys, union.shape[1])
    return Candidates(anchor, node, *values)


def personalised_pagerank(union: Any, inverse: Floats, anchors: Ints) -> Any:
    """Return where random walks from anchors (a,) stop, before each step with probability `RESTART`: sparse (a, n)."""
    size = len(anchors)
    here = csr_array((np.ones(size), (np.arange(size), anchors)), shape=(size, union.shape[0]))
    stopped = RESTART * here
    for _ in range(STEPS):
        here = ((1 - RESTART) * here * inverse).tocsr() @ union
        here.data[here.data < MIN_PROBABILITY] = 0
        here.eliminate_zeros()
        stopped = stopped + RESTART * here
    return stopped


def _entries(matrix: Any) -> tuple[Ints, Floats]:
    """Return the sorted positions (row * number of columns + column) and the values of a sparse matrix."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    row = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return row * matrix.shape[1] + matrix.indices, matrix.data


def _prune(found: Candidates, anchors: Ints, enough: Ints) -> Candidates:
    """Remove the anchors themselves, and candidates that are not among the `enough` (a,) best by either score."""
    other = found.node != anchors[found.anchor]
    found = Candidates._make(column[other] for column in found)
    best = np.minimum(*(_ranks(found.anchor, score) for score in (found.allocation, found.pagerank)))
    good = best <= enough[found.anchor]
    return Candidates._make(column[good] for column in found)


def _select(
    found: Candidates, node: Ints, layer: Ints, reverse: Bools, count: int, known: KnownPairs, rng: Generator
) -> Ints:
    """Return the `count` best candidates (i, count) of each node (i,) in its layer; distinct nodes are the anchors."""
    _, items = np.unique(node, return_counts=True)
    sizes = np.bincount(found.anchor, minlength=len(items))
    start = np.repeat(np.cumsum(sizes) - sizes, items)
    length = np.repeat(sizes, items)
    item = np.repeat(np.arange(len(node)), length)
    index = np.arange(len(item)) - np.repeat(np.cumsum(length) - length, length) + start[item]
    other = found.node[index]
    pairs = np.stack([node[item], other], 1)
    free = ~known.has(layer[item], pairs)
    if known.space is not None:
        free &= known.space.contains(layer[item], np.where(reverse[item][:, None], pairs[:, ::-1], pairs))
    item, other, index = item[free], other[free], index[free]
    best = np.minimum(*(_ranks(item, score[index]) for score in (found.allocation, found.pagerank)))
    order = np.lexsort((rng.random(len(item)), best, item))
    item, other = item[order], other[order]
    column = np.arange(len(item)) - np.searchsorted(item, np.arange(len(node)))[item]
    chosen = np.full((len(node), count), -1, np.int64)
    chosen[item[column < count], column[column < count]] = other[column < count]
    return chosen


def _ranks(item: Ints, score: Floats) -> Ints:
    """Return the rank of each score within its item (c,), which is sorted; a score of 0 has the largest integer."""
    order = np.lexsort((-score, item))
    new = np.ones(len(item), np.bool_)
    new[1:] = (np.diff(item[order]) != 0) | (np.diff(score[order]) != 0)
    first_tied = np.flatnonzero(new)[np.cumsum(new) - 1]
    rank = np.empty(len(item), np.int64)
    rank[order] = 1 + first_tied - np.searchsorted(item, item[order])
    return np.where(score > 0, rank, np.iinfo(np.int64).max)
