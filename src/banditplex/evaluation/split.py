"""Splits of a multiplex into a training graph and labelled test pairs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.evaluation.leakage import check_leakage
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.notes import show_names
from banditplex.multiplex.value import DATES
from banditplex.pairs.hard_negatives import hard_negatives
from banditplex.pairs.known import KnownPairs, repeated
from banditplex.pairs.negatives import PROPOSALS, own_negatives, pool_negatives, within_free
from banditplex.pairs.visibility import HIDE, Visibility
from banditplex.registry import check_choice
from banditplex.rng import random_ranks, stream
from banditplex.terminal import warn

NEGATIVES = (*PROPOSALS, "hard")
HARD_EACH = 100  # default number of hard negatives per positive, if there are so many


@dataclass(frozen=True)
class Split:
    """A training graph, and labelled test pairs of each layer.

    Pass only `train` to `fit`. `negatives`, if not None, holds each positive's own negatives for ranking, in the order
    of the positives in `pairs`.
    """

    train: Multiplex
    hide: str
    layer: Ints  # (n,) layer index of each test pair
    pairs: Ints  # (n, 2) node indices
    label: Ints  # (n,) 1 = held-out edge, 0 = negative: not an edge of the full multiplex
    negatives: Ints | None = None  # (p, m, 2) node indices, of each pair with label 1; -1: its layer has fewer

    def test(self, layer: Name) -> tuple[Ints, Ints]:
        """Return the test pairs (n, 2), as node indices, and labels (n,) of a layer."""
        order, start = self._by_layer
        index = self.train.layer_index(layer)
        here = order[start[index] : start[index + 1]]
        return self.pairs[here], self.label[here]

    @cached_property
    def _by_layer(self) -> tuple[Ints, Ints]:
        """The test pairs by layer (n,), and where each layer begins, (num_layers + 1,)."""
        size = np.bincount(self.layer, minlength=self.train.num_layers)
        return np.argsort(self.layer, kind="stable"), np.append(0, np.cumsum(size))

    def ranking(self, layer: Name) -> tuple[Ints, Ints]:
        """Return the positives (p, 2) of a layer, and the negatives (p, m, 2) that each is ranked against.

        The number m is smaller in a layer that has fewer pairs without an edge.
        """
        if self.negatives is None:
            raise InputError("Expected a split made with `each` or negatives='hard', got no negatives to rank against.")
        positive = self.label == 1
        here = self.layer[positive] == self.train.layer_index(layer)
        negatives = self.negatives[here]
        return self.pairs[positive][here], negatives[:, (negatives >= 0).all((0, 2))]

    def validation(self, share: float = 0.2, seed: int = 0, **options: Any) -> "Split":
        """Split the training graph as `split` does, with the same `hide`. Tune on this split: it has no test pairs."""
        return split(self.train, hide=self.hide, share=share, seed=seed, **options)

    def check(self, full: Multiplex | None = None) -> None:
        """Check for leakage; raise an error that names the first pair that leaks. See `banditplex.evaluation.leakage`.

        Parameters: `full`, the multiplex that was split. By default, it is the training graph plus the held-out edges,
        which is correct after `split` and `k_fold`.
        """
        check_leakage(self, full)


def split(
    mx: Multiplex, *, hide: str, share: float = 0.2, seed: int = 0, negatives: str = "uniform", each: int | None = None
) -> Split:
    """Hold out a share of every layer's edges, and draw as many negatives, or all that a dense layer has.

    With hide="layer", a held-out pair is removed from its own layer and stays visible in other layers; negatives are
    not edges of their layer. With hide="pair", it is removed from every layer, and negatives are edges of no layer.
    In a directed multiplex, both edges between two nodes are held out together, and negatives have no edge in either
    direction: a visible reverse edge would reveal the label. If nodes have types, negatives link only types that the
    edges of their layer link. A layer without any negative has no test pairs. A warning says where negatives are few.

    Parameters
    ----------
    mx
        The full multiplex. Self loops stay in training.
    hide
        "layer" or "pair".
    share
        Between 0 and 1. With hide="layer", this share of each layer's linked pairs is held out, at least one and never
        all; layers with fewer than 2 are not split. With hide="pair", it is the share of all linked pairs.
    seed
        The same seed holds out the same edges, also with other negatives.
    negatives
        "uniform" or "degree" (see `banditplex.pairs.negatives`), or "hard" (see `banditplex.pairs.hard_negatives`).
        Hard negatives are used for ranking only: the labelled test pairs are then uniform.
    each
        Number of negatives of its own that each positive is ranked against, or as many as its layer has. None: no
        such negatives, except for "hard", where it is 100.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], "a", num_nodes=5)
    >>> data = split(mx, hide="layer")
    >>> data.train.num_edges, data.label.tolist()
    (4, [1, 0])
    """
    how = check_options(mx, hide, negatives=negatives, each=each, share=share)
    rng, pairs = stream(seed, "split"), _LinkedPairs.of(mx, how.visibility)
    count = np.clip(np.rint(share * pairs.size), 1, np.maximum(pairs.size - 1, 0))  # at least 1, and never all
    out = pairs.edges(random_ranks(pairs.stratum, rng) < count[pairs.stratum])
    _tell_scarce(mx, out - 1, how)
    return _hold_out(mx, out, ~out, rng, how)


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
    """Yield one split per fold of cross-validation: every edge is held out in exactly one fold.

    With hide="layer", the linked pairs of each layer are distributed evenly over the folds. Layers with fewer than 2
    are not tested, and layers with fewer than `folds` only in some folds. With hide="pair", the linked pairs of all
    layers are distributed together, so that a layer may lose all its edges in a fold. Self loops are never held out.
    Parameters: as for `split`; `only`, the index of the only fold to yield.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], "a", num_nodes=5)
    >>> sorted(fold.train.num_edges for fold in k_fold(mx, hide="pair", folds=2))
    [2, 3]
    """
    how = check_options(mx, hide, negatives=negatives, each=each, folds=folds)
    rng, pairs = stream(seed, "folds"), _LinkedPairs.of(mx, how.visibility, at_least=folds)
    rank = random_ranks(pairs.stratum, rng)
    fold = (rank + rng.integers(0, folds, len(pairs.size))[pairs.stratum]) % folds
    fold = np.where(pairs.size[pairs.stratum] > 1, fold, -1)
    _tell_scarce(mx, np.where(pairs.index >= 0, fold[pairs.index], -1), how)
    return (
        _hold_out(mx, out, ~out, stream(seed, "fold", index), how)
        for index in (range(folds) if only is None else [only])
        for out in [pairs.edges(fold == index)]
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
    """Train on the edges up to a time, and test on later ones.

    A later edge is not a test pair if its nodes were linked before, in its layer (hide="layer") or in any layer
    (hide="pair"). It is not in the training graph either.

    Parameters
    ----------
    mx
        A multiplex with times.
    share
        If `after` is None: the cut is the earliest time such that at most this share of all edges is later.
    after
        The cut: edges with a later time are held out. A number, or a datetime if times were given as datetimes.
    hide, seed, negatives, each
        As for `split`.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 2, 3], "a", time=[1, 2, 3, 4], num_nodes=4)
    >>> temporal_split(mx, hide="layer", after=3).pairs[0].tolist()
    [2, 3]
    """
    how = check_options(mx, hide, negatives=negatives, each=each, share=share)
    if mx.time is None:
        raise InputError(
            "Expected a multiplex with times (a column time of the table, `time` of from_edges), got one without."
        )
    cut = np.sort(mx.time)[math.ceil((1 - share) * mx.num_edges) - 1] if after is None else after
    if not isinstance(cut, int | float | np.number):
        cut = np.datetime64(cut, "ns").astype(np.int64)  # the unit of edge times
    late = mx.time > cut
    linked_before = how.visibility.known_pairs(mx.keep_edges(~late))
    out = late & (mx.edge_index[0] != mx.edge_index[1])
    out[out] = ~linked_before.has(mx.edge_layer[out], mx.edge_index[:, out].T)
    if not out.any():
        last, first, latest = (_show_time(mx, each) for each in (cut, mx.time.min(), mx.time.max()))
        raise InputError(f"Expected new pairs after {last}, got none: times are {first} to {latest}.")
    _tell_scarce(mx, out - 1, how)
    return _hold_out(mx, out, ~late, stream(seed, "split"), how)


def _show_time(mx: Multiplex, time: Any) -> str:
    dates = mx.metadata.get(DATES) is True
    return str(np.datetime64(int(time), "ns").astype("M8[s]")).removesuffix("T00:00:00") if dates else str(time)


class FixedSplit(NamedTuple):
    """Two splits with the same training graph: `valid` for tuning, `test` for reporting."""

    valid: Split
    test: Split

    @property
    def hide(self) -> str:
        """What training should hide of a pair: what is hidden of test pairs.

        "layer", or "edge" if the reverse edges of test pairs are in the training graph, where methods may see them.
        """
        train = self.test.train
        known = Visibility.of_split("layer", train).known_pairs(train) if train.directed else None
        return "edge" if known is not None and known.has(self.test.layer, self.test.pairs).any() else "layer"

    @property
    def of_triples(self) -> bool:
        """Whether single edges are held out, and ranked, as of a knowledge graph; both ways of a pair otherwise."""
        return self.test.hide == HIDE[0]

    def known_edges(self, layer: int) -> Ints:
        """Return all edges (n, 2) of a layer, for training, validation and test; both ways if undirected."""
        train = self.test.train
        parts = [part.pairs[(part.layer == layer) & (part.label == 1)] for part in self]
        edges = np.concatenate([train.edges(train.layer_names[layer]).T, *parts])
        return edges if train.directed else np.concatenate([edges, edges[:, ::-1]])


def fixed_split(folder: str | Path, *, leaks: str = "error", directed: bool = True) -> FixedSplit:
    """Read the predefined split of a folder: train.txt, valid.txt and test.txt (triples or GATNE), or Parquet tables.

    Parameters
    ----------
    folder
        For example `banditplex.datasets.fetch("umls")` for triples, "gatne-amazon", or "polypharmacy" for tables.
    leaks
        What to do about labelled pairs that leak, because they or their reverse are training edges or are listed
        twice. "error" raises an error and "drop" removes them. "keep" keeps them, for comparison with published
        results; `Split.check` then finds the leak. Of triples, the reverse is another edge, as in print.
    directed
        Whether (u, v) and (v, u) are different edges of a GATNE folder; tables are undirected.

    Triples list edges only: as many random pairs that are no edges of the full graph, or all that there are, are added
    with label 0. Edges of a node with itself are left out.
    """
    from banditplex.io.gatne import read_gatne_splits, read_split_tables
    from banditplex.io.triples import is_triples, read_triple_splits

    check_choice("leaks", leaks, ("error", "drop", "keep"))
    path = Path(folder)
    tables, triples = (path / "train.parquet").is_file(), path.is_dir() and is_triples(path)
    if not (tables or triples or (path / "train.txt").is_file()):
        raise InputError(f"{folder}: expected a folder with a split, train.txt, valid.txt and test.txt, got none.")
    files = read_split_tables(folder) if tables else read_triple_splits(folder) if triples else None
    files = files or read_gatne_splits(folder, directed=directed)
    hide = HIDE[0] if triples else HIDE[1]
    test, valid = (
        Split(files.train, hide, part.layer, part.pairs, part.label.astype(np.int64))
        for part in (files.test, files.valid)
    )
    if triples:
        test, valid = (_select(part, part.pairs[:, 0] != part.pairs[:, 1]) for part in (test, valid))
    known = Visibility(hide, files.train.directed).known_pairs(files.train)
    bad = []
    for part in (test, valid):
        keys = known.keys(part.layer, part.pairs)
        bad.append(repeated(keys) | known.has_keys(keys))
        known.add(part.layer, part.pairs)
    count = sum(map(np.count_nonzero, bad))
    if leaks == "error" and count:
        raise InputError(
            f"{folder}: expected no leakage, or leaks='drop' or 'keep', got {count:,} labelled pairs that are training "
            "edges, in either direction, or are listed twice."
        )
    if leaks == "drop":
        test, valid = _select(test, ~bad[0]), _select(valid, ~bad[1])
    if triples:
        rng = stream(0, "negatives of triples")

        def beside_negatives(part: Split) -> Split:
            layer = part.layer[within_free(part.layer, known)]
            pairs = np.concatenate([part.pairs, pool_negatives(part.train, layer, known, rng)])
            label = np.append(part.label, np.zeros(len(layer), np.int64))
            return replace(part, layer=np.append(part.layer, layer), pairs=pairs, label=label)

        test, valid = beside_negatives(test), beside_negatives(valid)
    return FixedSplit(valid, test)


@dataclass(frozen=True)
class _LinkedPairs:
    """The linked pairs of a multiplex, in strata: one per layer (hide="layer"), or one for all (hide="pair").

    All edges of a pair are held out together, and the same share of each stratum is held out.
    """

    index: Ints  # (num_edges,) index of each edge's pair, -1 for self loops
    stratum: Ints  # (pairs,) stratum of each pair
    size: Ints  # (strata,) number of pairs

    @classmethod
    def of(cls, mx: Multiplex, visibility: Visibility, *, at_least: int = 2) -> "_LinkedPairs":
        """Find the linked pairs of a multiplex; refuse it if every stratum has fewer than `at_least`."""
        no_loop = mx.edge_index[0] != mx.edge_index[1]
        keys = visibility.keys(mx.edge_layer[no_loop], mx.edge_index[:, no_loop].T, mx.num_nodes)
        distinct, inverse = np.unique(keys, return_inverse=True)
        index = np.full(mx.num_edges, -1, np.int64)
        index[no_loop] = inverse
        stratum = distinct // max(mx.num_nodes, 1) ** 2
        size = np.bincount(stratum, minlength=1 if visibility.hides_everywhere else mx.num_layers)
        if size.max(initial=0) < at_least:
            where = "" if visibility.hides_everywhere else "a layer with "
            raise InputError(f"Expected {where}at least {at_least} linked pairs to split, got {size.max(initial=0)}.")
        return cls(index, stratum, size)

    def edges(self, chosen: Bools) -> Bools:
        """Return for each edge whether its pair is chosen."""
        return (self.index >= 0) & chosen[self.index]


class _Negatives(NamedTuple):
    """How the negatives of a split are drawn; see `split`."""

    visibility: Visibility
    negatives: str
    each: int | None


def _hold_out(mx: Multiplex, out: Bools, keep: Bools, rng: np.random.Generator, how: _Negatives) -> Split:
    """Return the split that trains on the edges `keep` (num_edges,) and tests on the edges `out`."""
    train, (visibility, negatives, each) = mx.keep_edges(keep), how
    known = visibility.test_negatives(mx, train)
    out = out & (known.num_free() > 0)[mx.edge_layer]
    if not out.any():
        where = "any" if known.everywhere else "their"
        raise InputError(f"Expected test edges beside pairs of nodes without an edge in {where} layer, got none.")
    layer, positives = mx.edge_layer[out], np.ascontiguousarray(mx.edge_index[:, out].T)
    beside = layer[within_free(layer, known)]
    pool = pool_negatives(mx, beside, known, rng, kind=negatives if negatives in PROPOSALS else "uniform")

    each = HARD_EACH if each is None and negatives == "hard" else each
    own = ranked_against(negatives, each, mx, train, layer, positives, known, rng) if each else None
    label = np.repeat([1, 0], [len(layer), len(beside)]).astype(np.int64)
    pairs = np.concatenate([positives, pool])
    return Split(train, visibility.hide, np.concatenate([layer, beside]), pairs, label, own)


def ranked_against(
    kind: str, each: int, mx: Multiplex, train: Multiplex, layer: Ints, positives: Ints, known: KnownPairs,
    rng: np.random.Generator,
) -> Ints:  # fmt: skip
    """Return `each` negatives (p, each, 2) of every positive (p, 2) in its layer (p,); -1 where the layer has fewer."""
    count = np.minimum(known.num_free(), each)[layer]
    pairs = np.full((len(layer), int(count.max(initial=0)), 2), -1, np.int64)
    for size in np.unique(count[count > 0]).tolist():
        at = count == size
        if kind == "hard":
            pairs[at, :size] = hard_negatives(train, layer[at], positives[at], size, known, rng)
        else:
            pairs[at, :size] = own_negatives(mx, layer[at], size, known, rng, kind=kind)
    return pairs


def _tell_scarce(mx: Multiplex, fold: Ints, how: _Negatives) -> None:
    """Warn of layers with too few negatives, given the fold (num_edges,) in which each edge is held out, or -1."""
    folds, dense = int(fold.max(initial=0)) + 1, how.visibility.dense
    held = np.bincount((mx.edge_layer * folds + fold)[fold >= 0], minlength=mx.num_layers * folds).reshape(-1, folds)
    need = np.where(held > 0, np.maximum(held, how.each or 0), 0)
    if dense:  # a pair that training shows in any layer is no negative, so they differ between folds
        trains = [mx.keep_edges(fold != each) for each in range(folds)]
        free = np.stack([how.visibility.test_negatives(mx, train).num_free() for train in trains], 1)
    else:
        free = how.visibility.negative_pairs(mx).num_free()[:, None]
    short = np.flatnonzero((need > free).any(1))
    said, few = [], "pairs without an edge"
    if dense:
        said = [f"Nearly all pairs of nodes are linked in some layer: negatives of a layer are held-out {few} in it."]
        few = "such pairs"
    if len(short):
        fewest = np.where(need > 0, free, np.iinfo(np.int64).max)[short].min(1)
        none = int(np.count_nonzero(fewest == 0))
        names = show_names([mx.layer_names[at] for at in short.tolist()], fewest.tolist())
        said += [
            f"{len(short)} of {mx.num_layers} layers have fewer {few} than test edges need as negatives: {names}.",
            "All of these are negatives" + f"; layers that have none ({none}) are not tested" * (none > 0) + ".",
        ]
    if said:
        warn(" ".join(said))


def _select(data: Split, keep: Bools) -> Split:
    return replace(data, layer=data.layer[keep], pairs=data.pairs[keep], label=data.label[keep])


def check_options(
    mx: Multiplex, hide: str, *, negatives: str, each: int | None, share: float = 0.5, folds: int = 2
) -> _Negatives:
    """Refuse options that are invalid for any multiplex; return what the split hides, and its negatives."""
    if not isinstance(mx, Multiplex):
        raise InputError(
            f"Expected a Multiplex, got {type(mx).__name__}: banditplex.read makes one of tables and graphs."
        )
    check_choice("negatives", negatives, NEGATIVES)
    if each is not None and each < 0:
        raise InputError(f"Expected each to be at least 0, got {each}.")
    if not 0 < share < 1:
        raise InputError(f"Expected share to be between 0 and 1, got {share}.")
    if folds < 2:
        raise InputError(f"Expected folds to be at least 2, got {folds}.")
    return _Negatives(Visibility.of_split(hide, mx), negatives, each)
