"""Inclusion probabilities in compressed form: arms that were never seen share one column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits.rounding import FloatArray, IntArray, distinct_ranks, invert, one_below, systematic

MATCH_ELEMENTS = 1 << 20  # at most this many comparisons of arms are in memory at once


@dataclass(eq=False)
class Marginals:
    """Inclusion probabilities of a batch of instances.

    `p` (rows, columns) is a probability per arm. Without `arms`, column i is arm i. With `arms`
    (rows, columns) and `seen` (rows,), column 0 is shared by all arms that have no column of their own,
    columns 1 to `seen` are the arms in `arms`, and the rest is padding.

    >>> m = Marginals(5, p=np.array([[0.1, 0.6]]), arms=np.array([[-1, 3]]), seen=np.array([1]))
    >>> m.dense().tolist()
    [[0.1, 0.1, 0.1, 0.6, 0.1]]
    """

    num_arms: int
    p: FloatArray
    arms: NDArray[np.integer] | None = None
    seen: IntArray | None = None

    @classmethod
    def uniform(cls, num_arms: int, k: int, rows: int) -> "Marginals":
        """Return the marginals of a uniform draw: k / num_arms for every arm."""
        p, arms = np.full((rows, 1), k / num_arms), np.full((rows, 1), -1)
        return cls(num_arms, p, arms, np.zeros(rows, dtype=np.int64))

    def dense(self) -> FloatArray:
        """Return the inclusion of every arm, (rows, num_arms)."""
        return dense([self], self.num_arms)

    def write(self, out: FloatArray) -> None:
        """Write the inclusion of every arm into `out` (rows, num_arms)."""
        if self.arms is None or self.seen is None:
            out[:] = self.p
            return
        out[:] = self.p[:, :1]
        row, column = np.nonzero(occupied(self.seen, self.p.shape[1]))
        out[row, self.arms[row, column]] = self.p[row, column]

    def at(self, row: IntArray, arm: IntArray) -> FloatArray:
        """Return the inclusion of single arms; `row` and `arm` have the same length."""
        if self.arms is None or self.seen is None:
            return self.p[row, arm]
        column = find_columns(self.arms, row, arm)
        return self.p[row, np.where(column <= self.seen[row], column, 0)]

    def sample(self, k: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Draw `k` distinct arms per row with exactly these marginals; return (rows, k) arms and p."""
        if k in (0, self.num_arms):
            return np.tile(np.arange(k), (len(self.p), 1)), np.ones((len(self.p), k))
        size = None if self.seen is None else column_sizes(self.num_arms, self.seen, self.p.shape[1])
        length = self.p if size is None else self.p * size
        if k == 1:
            columns = invert(length, rng)[:, None]
        else:
            columns = systematic(length, k, rng, size)
        at = np.arange(len(columns))[:, None], columns
        return self._arms_of(at, rng), self.p[at]

    def _arms_of(self, at: tuple[IntArray, IntArray], rng: np.random.Generator) -> IntArray:
        """Return the arms at (rows, columns); for the shared column, draw distinct unseen arms at random."""
        columns = at[1]
        if self.arms is None or self.seen is None:
            return columns
        arms = self.arms[at].astype(np.int64)
        if np.count_nonzero(columns) == columns.size:
            return arms
        row, place = (columns == 0).nonzero()
        if columns.shape[1] == 1:
            arms[row] = _skip(self._known(row), one_below(self.num_arms - self.seen[row], rng)[:, None])
        else:
            owner, count = np.unique(row, return_counts=True)
            ranks = distinct_ranks(self.num_arms - self.seen[owner], count, rng)
            arms[row, place] = _skip(self._known(owner), ranks)[ranks >= 0]
        return arms

    def _known(self, row: IntArray) -> NDArray[np.integer]:
        """Return the arms that have a column, for each of `row`: sorted, padded with 2 * num_arms."""
        assert self.arms is not None
        assert self.seen is not None
        known, seen = self.arms[row, 1:], self.seen[row]
        if np.count_nonzero(seen < known.shape[1]):
            known = np.where(np.arange(known.shape[1]) < seen[:, None], known, 2 * self.num_arms)
        known.sort(axis=1)
        return known


def column_sizes(num_arms: int, seen: IntArray, width: int) -> FloatArray:
    """Return the number of arms of each column (rows, width): the unseen arms, then 1 per seen arm, then 0."""
    size = (np.arange(width) <= seen[:, None]).astype(np.float64)
    size[:, :1] = (num_arms - seen)[:, None]
    return size


def find_columns(arms: NDArray[np.integer], row: IntArray, arm: IntArray) -> IntArray:
    """Return the column of each (row, arm), 0 if the arm has none; `row` and `arm` have the same length."""
    step = max(1, MATCH_ELEMENTS // arms.shape[1])
    if len(row) > step:
        parts = [slice(low, low + step) for low in range(0, len(row), step)]
        return np.concatenate([find_columns(arms, row[part], arm[part]) for part in parts])
    return (arms[row] == arm.astype(arms.dtype)[:, None]).argmax(axis=1)


def dense(parts: Sequence[Marginals], num_arms: int) -> FloatArray:
    """Return the inclusion of every arm for the rows of all parts, concatenated, (rows, num_arms)."""
    out, start = np.empty((sum(len(part.p) for part in parts), num_arms)), 0
    for part in parts:
        part.write(out[start : start + len(part.p)])
        start += len(part.p)
    return out


def at(parts: Sequence[Marginals], row: IntArray, arm: IntArray) -> FloatArray:
    """Return the inclusion of single arms; `row` refers to the concatenated parts."""
    out, start = np.empty(len(row)), 0
    for part in parts:
        here = (row >= start) & (row < start + len(part.p))
        out[here] = part.at(row[here] - start, arm[here])
        start += len(part.p)
    return out


def occupied(seen: IntArray, width: int) -> NDArray[np.bool_]:
    """Return which columns belong to a single arm, (rows, width)."""
    column = np.arange(width)
    return (column >= 1) & (column <= seen[:, None])


def _skip(known: NDArray[np.integer], ranks: IntArray) -> IntArray:
    """Return the arm at each rank (rows, m) among the arms not in `known`, which is sorted and padded as above.

    There are known[i] - i unknown arms below known[i], so a rank moves up by the number of i with
    known[i] - i <= rank.
    """
    gaps = known - np.arange(known.shape[1])
    return ranks + (gaps[:, :, None] <= ranks[:, None, :]).sum(axis=1)
