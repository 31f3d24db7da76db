"""Negatives: pairs without an edge, drawn uniformly or in proportion to node degrees.

If nodes have types, negatives link the types that the edges of their layer link (`known.PairSpace`). Hard negatives,
chosen for each positive, are in `hard_negatives.py`.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.random import Generator

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.known import (
    KnownPairs,
    PairSpace,
    Propose,
    contains,
    in_order,
    repeated,
    repeated_in_rows,
    restrict,
)

Slots = Callable[[Ints], Ints]  # slots (n,), numbered row by row -> pairs (n, 2)
NEGATIVES_AT_ONCE = 1 << 20  # number of negatives in memory at a time, where each positive has its own
MAX_EMPTY_ROUNDS = 100  # rounds without a valid pair before the fallback: uniform proposals, then enumeration
SCARCE = 1 / 16  # if a smaller share of pairs is free, negatives are listed: rejection would take too long


class NegativeSampler:
    """Draws negatives uniformly from the pairs that are not edges of a multiplex.

    Pass the training graph to draw negatives for training. Self pairs are never drawn, and undirected pairs have the
    smaller index first. In a directed multiplex the reverse of a negative may be an edge, unless `ordered` is False.
    With `everywhere`, negatives are edges of no layer. If nodes have types, negatives link only types that the layer
    links (see `PairSpace`, also for `links_of`).

    >>> mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=4)
    >>> drawn = NegativeSampler(mx).draw(np.zeros(3, int), np.random.default_rng(0), distinct=True)
    >>> sorted(map(tuple, drawn.tolist()))
    [(0, 3), (1, 2), (2, 3)]
    """

    def __init__(
        self, mx: Multiplex, *, everywhere: bool = False, ordered: bool | None = None, links_of: Multiplex | None = None
    ) -> None:
        self._known = restrict(KnownPairs(mx, everywhere=everywhere, ordered=ordered), mx, links_of=links_of)
        self._free = self._known.num_free()
        self._scarce = self._free < SCARCE * self._known.num_pairs()
        self._listed: dict[int, Ints] = {}
        self._names = mx.layer_names
        self._propose = uniform_pairs(mx, self._known.space)

    def draw(self, layer: Ints, rng: Generator, *, distinct: bool = False) -> Ints:
        """Return one negative (n, 2) for each layer index in `layer` (n,); with `distinct`, without repetition."""
        count = np.bincount(layer, minlength=len(self._names))
        _check_free(count if distinct else count > 0, self._free, self._names, everywhere=self._known.everywhere)
        scarce = self._scarce[layer]
        if distinct or not scarce.any():
            return draw_negatives(layer, self._known, self._propose, rng, distinct=distinct)
        pairs = np.empty((len(layer), 2), np.int64)
        pairs[~scarce] = draw_negatives(layer[~scarce], self._known, self._propose, rng, distinct=False)
        for index in np.unique(layer[scarce]).tolist():
            here = layer == index
            pairs[here] = rng.choice(self._list(index), np.count_nonzero(here))
        return pairs

    def _list(self, layer: int) -> Ints:
        """Return all negatives (f, 2) of a layer; if directed, either way."""
        space = self._known.space
        layer = 0 if self._known.everywhere and space is None else layer
        if layer not in self._listed:
            pairs = self._known.free_pairs(layer)[0]
            if self._known.directed and not self._known.ordered:
                pairs = np.concatenate([pairs, pairs[:, ::-1]])
                pairs = pairs if space is None else pairs[space.contains(np.full(len(pairs), layer), pairs)]
            self._listed[layer] = pairs
        return self._listed[layer]


def uniform_pairs(mx: Multiplex, space: PairSpace | None = None) -> Propose:
    """Return a function that proposes pairs of two different nodes (of `space`, if given), all equally likely."""
    if space is not None:
        return space.propose

    def propose(layer: Ints, rng: Generator) -> Ints:
        source = rng.integers(0, mx.num_nodes, len(layer))
        destination = rng.integers(0, mx.num_nodes - 1, len(layer))
        destination += destination >= source
        return in_order(source, destination, mx)

    return propose


def degree_pairs(mx: Multiplex, space: PairSpace | None = None) -> Propose:
    """Return a function that proposes pairs whose ends are drawn in proportion to their degrees in the layer.

    In a directed multiplex, sources are drawn in proportion to their out-degree and destinations to their in-degree.
    """
    if space is not None:
        return space.propose_by_degree()
    start, size = mx.layer_offsets[:-1], mx.layer_sizes

    def propose(layer: Ints, rng: Generator) -> Ints:
        first, second = (start[layer] + rng.integers(0, size[layer]) for _ in range(2))
        if mx.directed:
            return in_order(mx.edge_index[0, first], mx.edge_index[1, second], mx)
        side = rng.integers(0, 2, (2, len(layer)))
        return in_order(mx.edge_index[side[0], first], mx.edge_index[side[1], second], mx)

    return propose


PROPOSALS = {"uniform": uniform_pairs, "degree": degree_pairs}


def _proposals(mx: Multiplex, known: KnownPairs, kind: str, need: Ints) -> tuple[Propose, Propose]:
    """Return proposals of a kind, and uniform ones; refuse layers with fewer negatives than `need` (num_layers,)."""
    _check_free(need, known.num_free(), mx.layer_names, everywhere=known.everywhere)
    return PROPOSALS[kind](mx, known.space), uniform_pairs(mx, known.space)


def pool_negatives(mx: Multiplex, layer: Ints, known: KnownPairs, rng: Generator, *, kind: str = "uniform") -> Ints:
    """Return one negative (n, 2) for each entry of `layer` (n,), without repetition within a layer.

    With kind="degree" (see `degree_pairs`), those that follow when no more of these are found are uniform.
    """
    need = np.bincount(layer, minlength=mx.num_layers)
    propose, fallback = _proposals(mx, known, kind, need)
    return draw_negatives(layer, known, propose, rng, distinct=True, fallback=fallback)


def own_negatives(
    mx: Multiplex, layer: Ints, each: int, known: KnownPairs, rng: Generator, *, kind: str = "uniform"
) -> Ints:
    """Return `each` negatives (p, each, 2) per entry of `layer` (p,), none twice in an entry, in bounded memory."""
    need = each * (np.bincount(layer, minlength=mx.num_layers) > 0)
    propose, fallback = _proposals(mx, known, kind, need)
    pairs = np.zeros((len(layer), each, 2), np.int64)

    def fill(block: slice) -> Ints:
        layers, missing = layer[block], np.full((len(pairs[block]), each), -1, np.int64)
        return fill_rows(
            pairs[block], missing, layers, known, lambda slot: propose(layers[slot // each], rng), rng,
            fallback=lambda slot: fallback(layers[slot // each], rng),
        )  # fmt: skip

    for block in row_blocks(len(layer), each):
        pairs[block] = fill(block)
    return pairs


def within_free(layer: Ints, known: KnownPairs) -> Bools:
    """Return which entries of `layer` (n,) can have a negative each: of a layer that has fewer, as many as there are.

    >>> mx = Multiplex.from_edges([0, 0], [1, 2], "a", num_nodes=3)
    >>> within_free(np.array([0, 0]), KnownPairs(mx))
    array([ True, False])
    """
    order = np.argsort(layer, kind="stable")
    rank = np.empty(len(layer), np.int64)
    rank[order] = np.arange(len(layer)) - np.searchsorted(layer[order], layer[order])
    return rank < known.num_free()[layer]


def row_blocks(num_rows: int, each: int) -> Iterator[slice]:
    """Yield slices of rows with `each` pairs in a row, so that a block has about `NEGATIVES_AT_ONCE` pairs at most."""
    size = max(1, NEGATIVES_AT_ONCE // max(each, 1))
    return (slice(start, min(start + size, num_rows)) for start in range(0, num_rows, size))


def draw_negatives(
    layer: Ints, known: KnownPairs, propose: Propose, rng: Generator, *, distinct: bool, fallback: Propose | None = None
) -> Ints:
    """Return one negative (n, 2) for each entry of `layer` (n,), by rejection sampling.

    With `distinct`, no pair is drawn twice in a layer. `fallback` replaces `propose` after `MAX_EMPTY_ROUNDS` rounds
    without a valid pair; after as many more, the rest are drawn from a list of all negatives.
    """
    pairs = np.zeros((len(layer), 2), np.int64)
    used = np.empty(0, np.int64)
    missing = np.arange(len(layer))
    empty_rounds = 0
    while len(missing):
        drawn = propose(layer[missing], rng)
        key = known.keys(layer[missing], drawn)
        valid = drawn[:, 0] != drawn[:, 1]
        valid[valid] = ~known.has_keys(key[valid])
        if distinct:
            valid[valid] = ~repeated(key[valid]) & ~contains(used, key[valid])
            used = np.sort(np.concatenate([used, np.sort(key[valid])]), kind="stable")
        pairs[missing[valid]] = drawn[valid]
        missing = missing[~valid]
        empty_rounds = 0 if valid.any() else empty_rounds + 1
        if fallback is not None and empty_rounds == MAX_EMPTY_ROUNDS:
            propose = fallback
        if fallback is not None and empty_rounds == 2 * MAX_EMPTY_ROUNDS:
            for index in np.unique(layer[missing]).tolist():
                here = missing[layer[missing] == index]
                pairs[here] = _sample_free(index, *known.free_pairs(index), used, len(here), known, rng)
            break
    return pairs


def fill_rows(
    pairs: Ints, keys: Ints, layer: Ints, known: KnownPairs, propose: Slots, rng: Generator, *, fallback: Slots
) -> Ints:
    """Return pairs (p, m, 2) in which the missing ones are replaced by negatives, without repetition within a row.

    Parameters: `keys` (p, m), -1 for missing pairs; `layer` (p,), the layer of each row; `propose`, and `fallback` as
    in `draw_negatives`.
    """
    num_rows, each = keys.shape
    flat, key = pairs.reshape(-1, 2), keys.reshape(-1).copy()
    missing = np.flatnonzero(key < 0)
    empty_rounds = 0
    while len(missing):
        drawn = propose(missing)
        found = known.keys(layer[missing // each], drawn)
        valid = (drawn[:, 0] != drawn[:, 1]) & ~known.has_keys(found)
        if known.space is not None:
            valid &= known.space.contains(layer[missing // each], drawn)
        flat[missing], key[missing] = drawn, np.where(valid, found, -1)
        rows = np.unique(missing // each)
        block = key.reshape(num_rows, each)[rows]
        key.reshape(num_rows, each)[rows] = np.where(repeated_in_rows(block), -1, block)
        left = np.flatnonzero(key < 0)
        empty_rounds = 0 if len(left) < len(missing) else empty_rounds + 1
        missing = left
        if empty_rounds == MAX_EMPTY_ROUNDS:
            propose = fallback
        if empty_rounds == 2 * MAX_EMPTY_ROUNDS:
            _fill_by_enumeration(flat, key, missing, layer, known, rng)
            break
    return flat.reshape(pairs.shape)


def _fill_by_enumeration(flat: Ints, key: Ints, missing: Ints, layer: Ints, known: KnownPairs, rng: Generator) -> None:
    """Fill the missing slots of `flat` (p * m, 2) with negatives that their row does not have yet."""
    each = len(key) // len(layer)
    rows, first, count = np.unique(missing // each, return_index=True, return_counts=True)
    for index in np.unique(layer[rows]).tolist():
        pairs, keys = known.free_pairs(index)
        for place in np.flatnonzero(layer[rows] == index).tolist():
            slots = missing[first[place] : first[place] + count[place]]
            used = np.sort(key[rows[place] * each : (rows[place] + 1) * each])
            flat[slots] = _sample_free(index, pairs, keys, used, len(slots), known, rng)


def _sample_free(
    layer: int, pairs: Ints, keys: Ints, used: Ints, count: int, known: KnownPairs, rng: Generator
) -> Ints:
    """Draw `count` pairs (f, 2) whose keys (f,) are not in `used`, which is sorted; if directed, with random order."""
    chosen: Ints = rng.choice(pairs[~contains(used, keys)], count, replace=False)
    return known.orient(np.full(count, layer), chosen, rng)


def _check_free(need: Ints | Bools, free: Ints, names: Sequence[Name], *, everywhere: bool) -> None:
    """Refuse layers with fewer negatives than `need` (num_layers,)."""
    short = np.flatnonzero(free < need)
    if len(short):
        at = int(short[0])
        where = f"any layer, for layer {names[at]!r}" if everywhere else f"layer {names[at]!r}"
        raise InputError(f"Expected at least {int(need[at])} pairs without an edge in {where}, got {free[at]}.")
