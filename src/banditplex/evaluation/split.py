"""Splits of a multiplex into what a model may see and what it is asked about."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.evaluation.leakage import check_leakage
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.hard_negatives import hard_negatives
from banditplex.pairs.known import Bools, Ints, repeated
from banditplex.pairs.negatives import PROPOSALS, check_room, own_negatives, pool_negatives
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks, stream

NEGATIVES = (*PROPOSALS, "hard")
HARD_EACH = 100
"""Hard negatives of each positive where no number is asked for, if there is room for so many."""


@dataclass(frozen=True)
class Split:
    """What a model is trained on, and labelled pairs of each layer to test it on.

    `train` is all that `fit` may be given. Where each positive has negatives of its own to be ranked among, they
    are in `negatives`, in the order of the positives in `pairs`.
    """

    train: Multiplex
    hide: str
    layer: Ints  # (n,) layer index of each test pair
    pairs: Ints  # (n, 2) node indices
    label: Ints  # (n,) 1 = held-out edge, 0 = no edge of the full multiplex
    negatives: Ints | None = None  # (p, m, 2) node indices, for each of the p pairs with label 1

    def test(self, layer: Name) -> tuple[Ints, Ints]:
        """Return the test pairs (n, 2), as node indices, and labels (n,) of a layer."""
        here = self.layer == self.train.layer_index(layer)
        return self.pairs[here], self.label[here]

    def ranking(self, layer: Name) -> tuple[Ints, Ints]:
        """Return the positives (p, 2) of a layer and the negatives (p, m, 2) that each is to be ranked among."""
        if self.negatives is None:
            raise InputError("Expected a split with negatives for each positive: give `each`, or negatives='hard'.")
        held = self.label == 1
        here = self.layer[held] == self.train.layer_index(layer)
        return self.pairs[held][here], self.negatives[here]

    def validation(self, share: float = 0.2, seed: int = 0, **options: Any) -> "Split":
        """Return a split of the training graph, by the same rule of hiding: for tuning, which never sees a test pair.

        Parameters: as for `split`.
        """
        return split(self.train, hide=self.hide, share=share, seed=seed, **options)

    def check(self, full: Multiplex | None = None) -> None:
        """Check that nothing leaks; refuse with the first pair that does. See `banditplex.evaluation.leakage`.

        Parameters: `full`, the multiplex that was split. Without it, the full multiplex is taken to be the training
        graph and the held-out edges, which is true after `split` and `k_fold`.
        """
        check_leakage(self.train, self.hide, self.layer, self.pairs, self.label, self.negatives, full)


def split(
    mx: Multiplex,
    *,
    hide: str,
    share: float = 0.2,
    seed: int = 0,
    negatives: str = "uniform",
    each: int | None = None,
) -> Split:
    """Hold out a share of every layer's edges, and as many pairs without an edge.

    With hide="layer" a held-out pair is removed from its own layer, and stays visible where else it is an edge;
    its negatives are no edges of their layer. With hide="pair" it is removed from every layer, and negatives are
    edges of none. In a directed multiplex both arcs between two nodes go together, and negatives are pairs without
    an arc either way, as a visible reverse arc would give the answer away.

    Parameters
    ----------
    mx
        The full multiplex. Self loops stay in training.
    hide
        "layer" or "pair". The share is of each layer's pairs (at least 1 of 2 or more; a layer with fewer
        stays whole), or of all pairs that are edges anywhere.
    share
        Between 0 and 1.
    seed
        The same seed holds out the same edges, whatever the negatives.
    negatives
        "uniform", "degree" (`pool_negatives` in negatives.py) or "hard" (hard.py). Hard ones are for ranking; the
        labelled test pairs are uniform then.
    each
        Number of negatives that each positive has for itself, for ranking. None: no such negatives, but 100 hard
        ones, or as many as there is room for.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], "a", num_nodes=5)
    >>> parts = split(mx, hide="layer")
    >>> parts.train.num_edges, parts.label.tolist()
    (4, [1, 0])
    """
    visibility = _check_options(hide, mx, negatives, each)
    _check_share(share)
    rng = stream(seed, "split")
    units = _Units.of(mx, visibility)
    out = units.edges(units.ranks(rng) < units.counts(share)[units.stratum])
    return _held_out(mx, out, ~out, rng, visibility, negatives=negatives, each=each)


def k_fold(
    mx: Multiplex,
    *,
    hide: str,
    folds: int = 5,
    seed: int = 0,
    negatives: str = "uniform",
    each: int | None = None,
    only: int | None = None,
) -> Iterator[Split]:
    """Yield one split per fold; over all folds every edge is held out once.

    With hide="layer" each layer's pairs are dealt out evenly over the folds; a layer with fewer than 2 pairs stays
    whole, and is not tested; one with fewer than `folds` is not tested in every fold. With hide="pair" the pairs of
    all layers together are dealt out, and a layer may lose all its edges in a fold. Self loops are never held out.
    Parameters: as for `split`; `only`, the index of a fold, yields that one alone.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], "a", num_nodes=5)
    >>> sorted(parts.train.num_edges for parts in k_fold(mx, hide="pair", folds=2))
    [2, 3]
    """
    visibility = _check_options(hide, mx, negatives, each)
    if folds < 2:
        raise InputError(f"Expected at least 2 folds, got {folds}.")
    units = _Units.of(mx, visibility, least=folds)
    rng = stream(seed, "folds")
    fold = (units.ranks(rng) + rng.integers(0, folds, len(units.size))[units.stratum]) % folds
    fold = np.where(units.size[units.stratum] > 1, fold, -1)
    return (
        _held_out(mx, out, ~out, stream(seed, "fold", index), visibility, negatives=negatives, each=each)
        for index in (range(folds) if only is None else [only])
        for out in [units.edges(fold == index)]
    )


def temporal_split(
    mx: Multiplex,
    *,
    hide: str,
    share: float = 0.2,
    after: Any = None,
    seed: int = 0,
    negatives: str = "uniform",
    each: int | None = None,
) -> Split:
    """Train on the edges up to a time, test on those that come later.

    A pair that was an edge before, in its layer (hide="layer") or anywhere (hide="pair"), in either direction, is
    no test pair; like all that is later, it is not in training.

    Parameters
    ----------
    mx
        A multiplex with times.
    share
        Without `after`: the cut is the earliest time after which at most this share of all edges comes.
    after
        The cut: edges with a later time are held out. A number, or a datetime where times were datetimes.
    hide, seed, negatives, each
        As for `split`.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 2, 3], "a", time=[1, 2, 3, 4], num_nodes=4)
    >>> temporal_split(mx, hide="layer", after=3).pairs[0].tolist()
    [2, 3]
    """
    visibility = _check_options(hide, mx, negatives, each)
    if mx.time is None:
        raise InputError("Expected a multiplex with times, got one without: give `time` to from_edges, or use `split`.")
    _check_share(share)
    cut = np.sort(mx.time)[math.ceil((1 - share) * mx.num_edges) - 1] if after is None else _as_time(after)
    late = mx.time > cut
    seen = visibility.known_pairs(mx.keep_edges(~late))
    out = late & (mx.edge_index[0] != mx.edge_index[1])
    out[out] = ~seen.has(mx.edge_layer[out], mx.edge_index[:, out].T)
    if not out.any():
        raise InputError(f"Expected new pairs after {cut}, got none: times are {mx.time.min()} to {mx.time.max()}.")
    return _held_out(mx, out, ~late, stream(seed, "split"), visibility, negatives=negatives, each=each)


class FixedSplit(NamedTuple):
    """Two splits of one training graph: `valid` to tune on, `test` to report."""

    valid: Split
    test: Split


def fixed_split(folder: str | Path, *, leaks: str = "error", directed: bool = True) -> FixedSplit:
    """Read train.txt, valid.txt and test.txt of a GATNE folder as the split that they are.

    Parameters
    ----------
    folder
        For example `banditplex.datasets.fetch("gatne-amazon")`.
    leaks
        What is done about labelled pairs that leak (they or their reverse are edges in train.txt, or are listed twice):
        "error" refuses, "drop" leaves them out, "keep" takes the files as they are, for numbers that can be compared
        with published ones; `Split.check` then finds the leak.
    directed
        Whether (u, v) and (v, u) are two edges.
    """
    from banditplex.io.gatne import read_gatne_splits

    if leaks not in ("error", "drop", "keep"):
        raise InputError(f"Expected leaks to be one of error, drop, keep, got {leaks!r}.")
    files = read_gatne_splits(folder, directed=directed)
    test, valid = (
        Split(files.train, "layer", part.layer, part.pairs, part.label.astype(np.int64))
        for part in (files.test, files.valid)
    )
    known = Visibility.of_split("layer", files.train).known_pairs(files.train)
    bad = []
    for part in (test, valid):
        keys = known.keys(part.layer, part.pairs)
        bad.append(repeated(keys) | known.has_keys(keys))
        known.add(part.layer, part.pairs)
    count = sum(map(np.count_nonzero, bad))
    if leaks == "error" and count:
        raise InputError(
            f"{count:,} labelled pairs in {folder} leak: they or their reverse are edges in training, or are listed "
            "twice. leaks='drop' leaves them out, leaks='keep' takes the files as they are."
        )
    if leaks == "drop":
        test, valid = _take(test, ~bad[0]), _take(valid, ~bad[1])
    return FixedSplit(valid, test)


@dataclass(frozen=True)
class _Units:
    """What is held out as one: pairs of nodes, in a layer or everywhere; strata are what a share is taken of."""

    unit: Ints  # (num_edges,) the unit of each edge, -1 for self loops
    stratum: Ints  # (units,) the layer of each unit, or 0
    size: Ints  # (strata,) how many units there are

    @classmethod
    def of(cls, mx: Multiplex, visibility: Visibility, *, least: int = 2) -> "_Units":
        """Count the pairs of a multiplex; refuse if no stratum has at least so many."""
        proper = mx.edge_index[0] != mx.edge_index[1]
        keys = visibility.keys(mx.edge_layer[proper], mx.edge_index[:, proper].T, mx.num_nodes)
        distinct, place = np.unique(keys, return_inverse=True)
        unit = np.full(mx.num_edges, -1, np.int64)
        unit[proper] = place
        stratum = distinct // max(mx.num_nodes, 1) ** 2
        size = np.bincount(stratum, minlength=1 if visibility.hides_everywhere else mx.num_layers)
        if size.max(initial=0) < least:
            where = "" if visibility.hides_everywhere else "a layer with "
            raise InputError(f"Expected {where}at least {least} linked pairs to split, got {size.max(initial=0)}.")
        return cls(unit, stratum, size)

    def ranks(self, rng: np.random.Generator) -> Ints:
        """Return a random rank of each unit within its stratum."""
        return random_ranks(self.stratum, rng)[0]

    def counts(self, share: float) -> Ints:
        """Return how many units of each stratum are held out: the rounded share, at least 1 of 2 or more."""
        count = np.clip(np.rint(share * self.size), 1, np.maximum(self.size - 1, 0))
        return np.where(self.size > 1, count, 0).astype(np.int64)

    def edges(self, chosen: Bools) -> Bools:
        """Say which edges belong to the chosen units."""
        return (self.unit >= 0) & chosen[self.unit]


def _held_out(
    mx: Multiplex,
    out: Bools,
    keep: Bools,
    rng: np.random.Generator,
    visibility: Visibility,
    *,
    negatives: str,
    each: int | None,
) -> Split:
    """Return the split that trains on the edges `keep` (num_edges,) and tests on the edges `out`."""
    train = mx.keep_edges(keep)
    layer, positives = mx.edge_layer[out], np.ascontiguousarray(mx.edge_index[:, out].T)
    known = visibility.known_pairs(mx)
    pool = pool_negatives(mx, layer, known, rng, kind=negatives if negatives in PROPOSALS else "uniform")
    if each is None and negatives == "hard":
        each = int(min(HARD_EACH, known.free()[np.unique(layer)].min(initial=HARD_EACH)))
    own = None
    if each and negatives == "hard":
        check_room(each * (np.bincount(layer, minlength=mx.num_layers) > 0), known, mx)
        own = hard_negatives(train, layer, positives, each, known, rng)
    elif each:
        own = own_negatives(mx, layer, each, known, rng, kind=negatives)
    return Split(
        train,
        visibility.hide,
        np.concatenate([layer, layer]),
        np.concatenate([positives, pool]),
        np.repeat([1, 0], len(layer)).astype(np.int64),
        own,
    )


def _take(parts: Split, keep: Bools) -> Split:
    return replace(parts, layer=parts.layer[keep], pairs=parts.pairs[keep], label=parts.label[keep])


def _as_time(after: Any) -> Any:
    """Return a number as it is, and a date as the nanoseconds that times of edges are kept in."""
    return after if isinstance(after, int | float | np.number) else np.datetime64(after, "ns").astype(np.int64)


def _check_options(hide: str, mx: Multiplex, negatives: str, each: int | None) -> Visibility:
    """Refuse options that no split has; return what the split hides."""
    if negatives not in NEGATIVES:
        raise InputError(f"Expected negatives to be one of {', '.join(NEGATIVES)}, got {negatives!r}.")
    if each is not None and each < 0:
        raise InputError(f"Expected each to be at least 0, got {each}.")
    return Visibility.of_split(hide, mx)


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise InputError(f"Expected a share between 0 and 1, got {share}.")
