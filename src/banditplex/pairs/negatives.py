"""Pairs that are no edges: drawn evenly, or so that their ends have the degrees that ends of edges have.

Hard ones, chosen for each positive, are in `hard.py`.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import Ints, KnownPairs, contains, repeated, repeated_in_rows

CHUNK = 1 << 20
"""Negatives that are worked on at once, where each positive has its own."""

PATIENCE = 100
"""Rounds without a single find before pairs are drawn evenly instead, and after as many more from a list of all."""

Propose = Callable[[Ints, np.random.Generator], Ints]  # layers (n,) -> pairs (n, 2) of two different nodes


class NegativeSampler:
    """Draws pairs that are no edges, evenly and vectorised; what it needs to know of the multiplex is kept.

    The multiplex that is passed decides what is known: pass the training graph for training negatives. Self pairs
    are never drawn; undirected pairs have their smaller index first. Of a directed multiplex, a pair is an arc: its
    reverse may be an edge, unless `ordered` is false. With `everywhere`, pairs have no edge in any layer.

    >>> mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=4)
    >>> drawn = NegativeSampler(mx).draw(np.zeros(3, int), np.random.default_rng(0), distinct=True)
    >>> sorted(map(tuple, drawn.tolist()))
    [(0, 3), (1, 2), (2, 3)]
    """

    def __init__(self, mx: Multiplex, *, everywhere: bool = False, ordered: bool | None = None) -> None:
        self._known = KnownPairs(mx, everywhere=everywhere, ordered=ordered)
        self._free = self._known.free()
        self._names = mx.layer_names
        self._propose = even_pairs(mx)

    def draw(self, layer: Ints, rng: np.random.Generator, *, distinct: bool = False) -> Ints:
        """Return for each entry of `layer` (n,), a layer index, one pair (n, 2) that is no edge there.

        With `distinct`, no pair comes twice in one layer.
        """
        asked, wanted = np.unique(layer, return_counts=True)
        need = wanted if distinct else np.ones_like(wanted)
        short = np.flatnonzero(self._free[asked] < need)
        if len(short):
            at = int(asked[short[0]])
            raise InputError(
                _no_room(int(need[short[0]]), self._names[at], int(self._free[at]), everywhere=self._known.everywhere)
            )
        return draw_unknown(layer, self._known, self._propose, rng, distinct=distinct)


class GivenNegatives:
    """Draws from lists of negatives that the user gave, evenly and with replacement.

    Parameters: `given` maps layer indices to pairs (n, 2) of node indices.
    """

    def __init__(self, given: Mapping[int, Ints], num_layers: int) -> None:
        size = np.zeros(num_layers, np.int64)
        for layer, pairs in given.items():
            size[layer] = len(pairs)
        self._size, self._start = size, np.cumsum(size) - size
        self._pairs = np.concatenate([given[layer] for layer in sorted(given)])

    def draw(self, layer: Ints, rng: np.random.Generator) -> Ints:
        """Return for each entry of `layer` (n,), a layer index, one of the pairs given for it."""
        drawn: Ints = self._pairs[self._start[layer] + rng.integers(0, self._size[layer])]
        return drawn


def even_pairs(mx: Multiplex) -> Propose:
    """Return what proposes pairs of two different nodes, all equally likely."""

    def propose(layer: Ints, rng: np.random.Generator) -> Ints:
        source = rng.integers(0, mx.num_nodes, len(layer))
        destination = rng.integers(0, mx.num_nodes - 1, len(layer))
        destination += destination >= source
        return in_order(source, destination, mx)

    return propose


def pairs_by_degree(mx: Multiplex) -> Propose:
    """Return what proposes pairs whose two ends are ends of two edges of the layer, drawn evenly.

    So a node comes up in proportion to its degree there; of a directed multiplex the source in proportion to its
    out-degree, the destination to its in-degree.
    """
    start, size = mx.layer_offsets[:-1], mx.layer_sizes

    def propose(layer: Ints, rng: np.random.Generator) -> Ints:
        first, second = (start[layer] + rng.integers(0, size[layer]) for _ in range(2))
        if mx.directed:
            return in_order(mx.edge_index[0, first], mx.edge_index[1, second], mx)
        side = rng.integers(0, 2, (2, len(layer)))
        return in_order(mx.edge_index[side[0], first], mx.edge_index[side[1], second], mx)

    return propose


PROPOSALS: dict[str, Callable[[Multiplex], Propose]] = {"uniform": even_pairs, "degree": pairs_by_degree}


def pool_negatives(
    mx: Multiplex, layer: Ints, known: KnownPairs, rng: np.random.Generator, *, kind: str = "uniform"
) -> Ints:
    """Return for each entry of `layer` (n,) one unknown pair (n, 2); no pair comes twice in one layer.

    Parameters
    ----------
    mx
        The full multiplex, whose degrees count.
    layer
        Layer indices (n,), those of the positives.
    known
        The pairs that are no negatives.
    rng
        Where chance comes from.
    kind
        "uniform": all unknown pairs of the layer are equally likely. "degree": see `pairs_by_degree`; where
        rounds of drawing find no more such pairs, the rest are uniform.
    """
    check_room(np.bincount(layer, minlength=mx.num_layers), known, mx)
    return draw_unknown(layer, known, PROPOSALS[kind](mx), rng, distinct=True, otherwise=even_pairs(mx))


def own_negatives(
    mx: Multiplex, layer: Ints, each: int, known: KnownPairs, rng: np.random.Generator, *, kind: str = "uniform"
) -> Ints:
    """Return for each entry of `layer` (p,) `each` unknown pairs (p, each, 2), no pair twice for one entry.

    Parameters: as for `pool_negatives`. Beside the result, memory is bounded: `CHUNK` pairs are worked on at once.
    """
    check_room(each * (np.bincount(layer, minlength=mx.num_layers) > 0), known, mx)
    proposals = PROPOSALS[kind](mx), even_pairs(mx)
    pairs = np.empty((len(layer), each, 2), np.int64)
    rows = max(1, CHUNK // max(each, 1))
    for start in range(0, len(layer), rows):
        pairs[start : start + rows] = _own_block(layer[start : start + rows], each, known, proposals, rng)
    return pairs


def _own_block(
    layer: Ints, each: int, known: KnownPairs, proposals: tuple[Propose, Propose], rng: np.random.Generator
) -> Ints:
    propose, otherwise = proposals
    return fill_rows(
        np.zeros((len(layer), each, 2), np.int64),
        np.full((len(layer), each), -1, np.int64),
        layer,
        known,
        lambda slot: propose(layer[slot // each], rng),
        rng,
        otherwise=lambda slot: otherwise(layer[slot // each], rng),
    )


def draw_unknown(
    layer: Ints,
    known: KnownPairs,
    propose: Propose,
    rng: np.random.Generator,
    *,
    distinct: bool,
    otherwise: Propose | None = None,
) -> Ints:
    """Return for each entry of `layer` (n,) one unknown pair (n, 2), drawn again until it is one.

    With `distinct`, no pair comes twice in one layer. `otherwise` proposes once `PATIENCE` rounds found nothing; if it
    finds nothing either, the rest are taken from a list of all unknown pairs.
    """
    pairs = np.zeros((len(layer), 2), np.int64)
    taken = np.empty(0, np.int64)
    missing = np.arange(len(layer))
    vain = 0
    while len(missing):
        drawn = propose(layer[missing], rng)
        key = known.keys(layer[missing], drawn)
        good = _are_pairs(drawn)
        good[good] = ~known.has_keys(key[good])
        if distinct:
            good[good] = ~repeated(key[good]) & ~contains(taken, key[good])
            taken = np.sort(np.concatenate([taken, np.sort(key[good])]), kind="stable")
        pairs[missing[good]] = drawn[good]
        missing = missing[~good]
        vain = 0 if good.any() else vain + 1
        if otherwise is not None and vain == PATIENCE:
            propose = otherwise
        if otherwise is not None and vain == 2 * PATIENCE:
            for index in np.unique(layer[missing]).tolist():
                here = missing[layer[missing] == index]
                pairs[here] = _choose(*known.free_pairs(index), taken, len(here), known, rng)
            break
    return pairs


def fill_rows(
    pairs: Ints,
    keys: Ints,
    layer: Ints,
    known: KnownPairs,
    propose: Callable[[Ints], Ints],
    rng: np.random.Generator,
    *,
    otherwise: Callable[[Ints], Ints],
) -> Ints:
    """Return pairs (p, m, 2) of which those with key -1 in `keys` (p, m) are drawn, no pair twice in a row.

    Parameters: `layer` (p,), that of each row; `propose`, which for slots (n,), counted row by row, gives pairs
    (n, 2); `otherwise`, which does so once `PATIENCE` rounds found nothing. If that finds nothing either, the rest are
    taken from a list of all unknown pairs.
    """
    num_rows, each = keys.shape
    flat, key = pairs.reshape(-1, 2), keys.reshape(-1).copy()
    missing = np.flatnonzero(key < 0)
    vain = 0
    while len(missing):
        drawn = propose(missing)
        found = known.keys(layer[missing // each], drawn)
        flat[missing], key[missing] = drawn, np.where(_are_pairs(drawn) & ~known.has_keys(found), found, -1)
        rows = np.unique(missing // each)
        block = key.reshape(num_rows, each)[rows]
        key.reshape(num_rows, each)[rows] = np.where(repeated_in_rows(block), -1, block)
        left = np.flatnonzero(key < 0)
        vain = 0 if len(left) < len(missing) else vain + 1
        missing = left
        if vain == PATIENCE:
            propose = otherwise
        if vain == 2 * PATIENCE:
            _finish_rows(flat, key, missing, layer, known, rng)
            break
    return flat.reshape(pairs.shape)


def _finish_rows(
    flat: Ints, key: Ints, missing: Ints, layer: Ints, known: KnownPairs, rng: np.random.Generator
) -> None:
    """Put unknown pairs that their row does not have yet into the missing places of `flat` (p * m, 2)."""
    each = len(key) // len(layer)
    rows, first, count = np.unique(missing // each, return_index=True, return_counts=True)
    for index in np.unique(layer[rows]).tolist():
        pairs, keys = known.free_pairs(index)
        for place in np.flatnonzero(layer[rows] == index).tolist():
            slots = missing[first[place] : first[place] + count[place]]
            taken = np.sort(key[rows[place] * each : (rows[place] + 1) * each])
            flat[slots] = _choose(pairs, keys, taken, len(slots), known, rng)


def _choose(pairs: Ints, keys: Ints, taken: Ints, count: int, known: KnownPairs, rng: np.random.Generator) -> Ints:
    """Return `count` of the pairs (f, 2) whose keys (f,) are not among those taken, sorted; either way if directed."""
    chosen: Ints = rng.choice(pairs[~contains(taken, keys)], count, replace=False)
    return rng.permuted(chosen, axis=1) if known.directed else chosen


def check_room(need: Ints, known: KnownPairs, mx: Multiplex) -> None:
    """Refuse to look for more pairs (num_layers,) than are unknown in a layer."""
    free = known.free()
    short = np.flatnonzero(free < need)
    if len(short):
        at = int(short[0])
        raise InputError(_no_room(int(need[at]), mx.layer_names[at], int(free[at]), everywhere=known.everywhere))


def _no_room(need: int, layer: object, free: int, *, everywhere: bool = False) -> str:
    where = f"any layer, for layer {layer!r}" if everywhere else f"layer {layer!r}"
    return f"Expected at least {need} pairs without an edge in {where}, got {free}."


def _are_pairs(pairs: Ints) -> NDArray[np.bool_]:
    different: NDArray[np.bool_] = pairs[:, 0] != pairs[:, 1]
    return different


def in_order(source: Ints, destination: Ints, mx: Multiplex) -> Ints:
    """Return pairs (n, 2) as the multiplex keeps them: smaller index first unless it is directed."""
    if not mx.directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return np.stack([source, destination], 1)
