"""The state of a policy and its inclusion probabilities, compressed: arms that were never seen share one column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits.rounding import FloatArray, IntArray, distinct_ranks, invert, one_below, systematic
from banditplex.errors import InputError

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
        columns = invert(length, rng)[:, None] if k == 1 else systematic(length, k, rng, size)
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


Rows = slice | IntArray
"""Instances as an index: a slice if they are consecutive, which avoids copies; otherwise their numbers."""

FIRST_WIDTH = 32  # initial number of columns per instance; tables of up to twice as many arms are dense from the start


class State:
    """Numbers per instance and per arm for many instances.

    The arms of an instance that were never touched share one value, in column 0. An arm that is touched gets the
    next free column and starts from the shared value, because unused columns repeat column 0. Once an instance has
    touched half of its arms, the whole table becomes dense: column i is arm i. Memory thus grows with instances x
    the largest number of arms that any of them has touched. While the table is not dense, every instance has arms
    that were never touched.

    Many layers need this: with 10,000 instances of 9,999 arms (`hinted`, k = 4), a round of 32 instances takes 4 ms of
    processor time and all take 8 to 60 MB, over 300 rounds; dense tables take 158 ms and 2 GB from the first round on.
    """

    def __init__(
        self, num_instances: int, num_arms: int, *, instance: Mapping[str, Any], arm: Mapping[str, Any]
    ) -> None:
        self.num_instances, self.num_arms = num_instances, num_arms
        self.instance: dict[str, NDArray[Any]] = {
            name: np.full(num_instances, start) for name, start in instance.items()
        }
        self.dense = bool(arm) and num_arms <= 2 * FIRST_WIDTH
        self._order: Literal["C", "F"] = "F" if self.dense else "C"  # for short rows, column-major order is faster
        columns = num_arms if self.dense else 1 + FIRST_WIDTH * bool(arm)
        self._arm: dict[str, NDArray[Any]] = {
            name: np.full((num_instances, columns), start, order=self._order) for name, start in arm.items()
        }
        self._arms = np.full((num_instances, 0 if self.dense else columns), -1, dtype=np.int32)
        self._seen = np.zeros(num_instances, dtype=np.int64)
        self.width = num_arms if self.dense else 1

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in (*self.instance.values(), *self._arm.values(), self._arms, self._seen))

    def read(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return the values of all columns (rows, width); a view if `rows` is a slice."""
        return self._arm[name][rows, : self.width]

    def write(self, name: str, rows: Rows, values: NDArray[Any]) -> None:
        """Set the values of all columns (rows, width); unused columns must repeat column 0."""
        self._arm[name][rows, : self.width] = values

    def widen(self, values: FloatArray) -> FloatArray:
        """Extend a table (rows, columns) from before the last `touch` to the current columns (rows, width)."""
        missing = self.width - values.shape[1]
        return np.concatenate([values, values[:, :1].repeat(missing, axis=1)], axis=1) if missing else values

    def table(self, name: str) -> NDArray[Any]:
        """Return the values of all instances and columns, spare columns included; entries may be set in place."""
        return self._arm[name]

    def add(self, name: str, instance: IntArray, arm: IntArray, values: FloatArray) -> None:
        """Add `values` to the entries of single arms; the pairs are as in `touch`."""
        column = self.touch(instance, arm)
        self._arm[name][instance, column] += values

    def size(self, rows: Rows) -> FloatArray | None:
        """Return the number of arms of each column (rows, width); None if every column is one arm."""
        return None if self.dense else column_sizes(self.num_arms, self._seen[rows], self.width)

    def marginals(self, rows: Rows, p: FloatArray) -> Marginals:
        """Return `p` (rows, width), a probability per arm, together with the arms of its columns."""
        if self.dense:
            return Marginals(self.num_arms, p)
        return Marginals(self.num_arms, p, self._arms[rows, : self.width], self._seen[rows].copy())

    def touch(self, instance: IntArray, arm: IntArray) -> IntArray:
        """Return the column of each distinct (instance, arm), those of one instance adjacent; a new arm gets one."""
        if self.dense:
            return arm
        column = find_columns(self._arms[:, : self.width], instance, arm)
        if np.count_nonzero(column) == len(column):
            return column
        new = (column == 0).nonzero()[0]
        owner = instance[new]
        free = self._seen[owner] + 1 + _ranks(owner)
        if not self._reserve(int(free.max())):
            return arm
        self._arms[owner, free] = arm[new]
        self._seen[owner] = free  # the last column of each owner is kept
        column[new] = free
        return column

    def _reserve(self, most: int) -> bool:
        """Make room for `most` arms per instance; return False if the table has become dense instead."""
        if 2 * most > self.num_arms:
            self._become_dense()
            return False
        low, self.width = self.width, max(self.width, 1 + most)
        columns = self._arms.shape[1]
        if self.width > columns:
            more = min(max(self.width, 2 * columns), 1 + self.num_arms // 2) - columns
            self._arm = {name: np.pad(values, ((0, 0), (0, more))) for name, values in self._arm.items()}
            self._arms = np.pad(self._arms, ((0, 0), (0, more)), constant_values=-1)
        if self.width > low:
            for values in self._arm.values():
                values[:, low : self.width] = values[:, :1]
        return True

    def _become_dense(self) -> None:
        """Give every arm its own column, in the order of arms."""
        row, used = np.nonzero(occupied(self._seen, self._arms.shape[1]))
        arm = self._arms[row, used]
        for name, values in self._arm.items():
            full = np.repeat(values[:, :1], self.num_arms, axis=1)
            full[row, arm] = values[row, used]
            self._arm[name] = full
        self._arms, self.dense, self.width = self._arms[:, :0], True, self.num_arms

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays."""
        out = {name: values.copy() for name, values in self.instance.items()}
        out |= {name: values[:, : self.width].copy() for name, values in self._arm.items()}
        if not self.dense:
            out |= {"arms": self._arms[:, : self.width].copy(), "seen": self._seen.copy()}
        return out

    def from_dict(self, arrays: Mapping[str, Any]) -> None:
        """Restore a copy of what `to_dict` returned for a state of the same kind and size."""
        expected = {**self.instance, **self._arm}
        if grouped := "arms" in arrays:
            expected |= {"arms": self._arms, "seen": self._seen}
        if set(arrays) != set(expected):
            raise InputError(f"Expected a state with {', '.join(expected)}, got {', '.join(arrays) or 'nothing'}.")
        width = np.shape(arrays["arms"])[-1] if grouped else self.num_arms
        loaded = {name: _as_stored(arrays[name], old.dtype, self._order, name) for name, old in expected.items()}
        for name, values in loaded.items():
            wide = name in self._arm or name == "arms"
            shape = (self.num_instances, width) if wide else (self.num_instances,)
            if values.shape != shape:
                raise InputError(f"Expected state[{name!r}] of shape {shape}, got {values.shape}.")
        if grouped:
            _check_columns(loaded["arms"], loaded["seen"], self.num_arms)
            unused = np.arange(width) > loaded["seen"][:, None]
            for name in self._arm:
                np.copyto(loaded[name], loaded[name][:, :1], where=unused)
        self.instance = {name: loaded[name] for name in self.instance}
        self._arm = {name: loaded[name] for name in self._arm}
        self._arms = loaded.get("arms", self._arms[:, :0])
        self._seen = loaded.get("seen", np.zeros_like(self._seen))
        self.dense, self.width = not grouped, width


def _as_stored(values: Any, dtype: np.dtype[Any], order: Literal["C", "F"], name: str) -> NDArray[Any]:
    """Return a copy of numbers in the type of a state; refuse what is not finite, or would not stay the same."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InputError(f"Expected finite numbers as state[{name!r}], got others.")
    with np.errstate(invalid="ignore", over="ignore"):
        stored = np.array(given, dtype=dtype, order=order)
    if not np.array_equal(stored, given):
        raise InputError(f"Expected state[{name!r}] of type {dtype}, got {given.dtype}.")
    return stored


def _check_columns(arms: IntArray, seen: IntArray, num_arms: int) -> None:
    """Refuse a state whose columns stand for no arms, for arms that do not exist, or for one arm twice."""
    width = arms.shape[1]
    if width < 1 or seen.min() < 0 or seen.max() >= min(width, num_arms):
        raise InputError(f"Expected state['seen'] from 0 to {min(width, num_arms) - 1}, got others.")
    used = np.where(occupied(seen, width), arms, -1)
    row, column = np.nonzero(occupied(seen, width))
    if len(row) and (used[row, column].min() < 0 or used[row, column].max() >= num_arms):
        raise InputError(f"Expected state['arms'] from 0 to {num_arms - 1}, got others.")
    ordered = np.sort(used, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InputError("Expected distinct arms in each row of state['arms'], got one twice.")


def as_rows(instances: IntArray) -> Rows:
    """Return instances (B,) as an index: a slice if they are consecutive."""
    if len(instances):
        first, last = int(instances[0]), int(instances[-1])
        if last - first == len(instances) - 1 and (instances[1:] > instances[:-1]).all():
            return slice(first, last + 1)
    return instances


def _ranks(owner: IntArray) -> IntArray | int:
    """Return the rank of each entry among those of its owner, which are adjacent; 0 if all owners differ."""
    if len(owner) == 1:
        return 0
    first = owner[1:] != owner[:-1]
    if np.count_nonzero(first) == len(first):
        return 0
    order = np.arange(len(owner))
    return order - np.maximum.accumulate(np.where(np.append(True, first), order, 0))
