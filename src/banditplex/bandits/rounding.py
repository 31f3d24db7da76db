"""From log-weights to inclusion probabilities, and from inclusion probabilities to k distinct columns.

All functions work on batches (rows, columns). A column is one arm or, if `size` is given, a group of `size` arms
that share one value; padding is a group of size 0.
"""

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FEW = 4096  # for arrays up to this size, an extra numpy call costs more than the work it saves


def capped_softmax(y: ArrayLike, k: int) -> FloatArray:
    """Return w = min(1, exp(y + b)) with b such that each row sums to `k`.

    For k = 1 it is the softmax, for k = n all weights are 1.

    Parameters: `y` (n,) or (rows, n), finite or -inf; `k` from 1 to n.

    >>> capped_softmax(np.log([1.0, 2.0, 5.0]), 1).round(3).tolist()
    [0.125, 0.25, 0.625]
    >>> capped_softmax(np.log([1.0, 2.0, 5.0]), 2).round(3).tolist()
    [0.333, 0.667, 1.0]

    Uchiya, Nakamura and Kudo 2010, "Algorithms for adversarial bandit problems with multiple plays".
    """
    rows = np.atleast_2d(np.asarray(y, dtype=np.float64))
    w, scale, _ = solve_capped(rows - rows.max(axis=1, keepdims=True), k)
    return np.where(np.isneginf(rows), 0.0, w * scale[:, None]).reshape(np.shape(y))


def solve_capped(y: FloatArray, k: int, size: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return w (rows, columns), scale (rows,) and the largest <w, y> - sum w log w (rows,) of groups of arms.

    `w * scale[:, None]` is `capped_softmax`, per arm, which attains the maximum (for k = 1, the logsumexp). The largest
    `y` of each row must lie within 100 of 0. `y` may be overwritten.
    """
    if k == 1:
        w = exp(y, out=y)
        total = row_sum(w, size)
        return w, 1 / total, np.log(total)
    occupied = y if size is None else np.where(size > 0, y, row_min(y, size)[:, None])
    pivot = _largest_free(occupied, k, size)[:, None]
    capped = y > pivot
    free = np.where(capped, 0.0, exp(np.minimum(y - pivot, 0.0)))
    room, total = k - row_sum(capped.astype(np.float64), size), row_sum(free, size)
    w = np.where(capped, 1.0, np.minimum(free * (room / total)[:, None], 1.0))
    value = row_sum(np.where(capped, y, 0.0), size) + room * (pivot[:, 0] + np.log(total / room))
    return w, np.ones(len(w)), value


def kth_smallest(values: FloatArray, k: int, size: FloatArray | None = None) -> FloatArray:
    """Return the k-th smallest value over all arms of each row."""
    if k == 1:
        return row_min(values, size)
    if size is None:
        return np.partition(values, k - 1, axis=1)[:, k - 1]
    order = np.argsort(np.where(size > 0, values, np.inf), axis=1)
    reached = (np.cumsum(np.take_along_axis(size, order, 1), axis=1) >= k).argmax(axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, reached[:, None], 1), 1)[:, 0]


def greedy(values: FloatArray, k: int, size: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return weight 1 on the k smallest values, shared evenly among ties, and the sum of these values.

    It is the limit of `capped_softmax(-eta * values, k)` as eta grows.
    """
    kth = kth_smallest(values, k, size)[:, None]
    below = (values < kth).astype(np.float64)
    tied = (values == kth).astype(np.float64)
    room = k - row_sum(below, size)
    w = below + tied * (room / row_sum(tied, size))[:, None]
    return w, row_sum(np.where(below > 0, values, 0.0), size) + kth[:, 0] * room


def exp(y: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return e to the power max(y, -650): subnormal numbers are slow, and an arm of weight 0 is never drawn again."""
    if y.size <= FEW or y.min(initial=0.0) < -650.0:
        y = out = np.maximum(y, -650.0, out=out)
    return np.exp(y, out=out)


def row_sum(values: FloatArray, size: NDArray[Any] | None = None) -> FloatArray:
    """Return the sum over all arms of each row."""
    return values.sum(axis=1) if size is None else np.vecdot(values, size)


def row_min(values: FloatArray, size: FloatArray | None = None) -> FloatArray:
    """Return the smallest value over all arms of each row."""
    return (values if size is None else np.where(size > 0, values, np.inf)).min(axis=1)


def _largest_free(y: FloatArray, k: int, size: FloatArray | None) -> FloatArray:
    """Return the largest y (rows,) that is not capped: the first whose weight stays below 1, k > 1.

    If the r largest are capped, the next one has weight (k - r) exp(-excess), where excess is the logsumexp of
    the remaining y minus the next y. Only differences of y are used, so y may be arbitrarily large.
    """
    m = min(k, y.shape[1])
    order = np.argpartition(-y, m - 1, axis=1)
    first = order[:, :m]
    first = np.take_along_axis(first, np.argsort(-np.take_along_axis(y, first, 1), axis=1), 1)
    top, rest = np.take_along_axis(y, first, 1), np.take_along_axis(y, order[:, m:], 1)
    count = np.ones_like(top) if size is None else np.take_along_axis(size, first, 1)
    rest_size = None if size is None else np.take_along_axis(size, order[:, m:], 1)
    before = np.cumsum(count, axis=1) - count
    fits = before + count >= k
    with np.errstate(divide="ignore"):
        log_count = np.log(count)
        excess = np.log(row_sum(exp(rest - top[:, -1:]), rest_size))
        for j in reversed(range(m)):
            step = top[:, j + 1] - top[:, j] if j + 1 < m else 0.0
            excess = np.logaddexp(log_count[:, j], excess + step)
            fits[:, j] |= np.log(np.maximum(k - before[:, j], 1.0)) <= excess
    return np.take_along_axis(top, fits.argmax(axis=1)[:, None], 1)[:, 0]


def invert(length: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one column per row, with probability proportional to `length` (rows, columns).

    If there are many columns, a block of them is drawn first, then a column of the block: cumulative sums are short.
    """
    rows, columns = length.shape
    u = rng.random(rows)
    if columns <= 64 or length.size <= FEW:
        ends = np.add.accumulate(length, axis=1)
        return (ends > (u * ends[:, -1])[:, None]).argmax(axis=1)  # u < 1, so the last end is above
    step = isqrt(columns)
    blocks = np.cumsum(np.add.reduceat(length, np.arange(0, columns, step), axis=1), axis=1)
    block, rest = _find(blocks, u * blocks[:, -1])
    column = (block * step)[:, None] + np.arange(step)
    within = length[np.arange(rows)[:, None], np.minimum(column, columns - 1)]
    within[column >= columns] = 0.0
    return block * step + _find(np.cumsum(within, axis=1), rest)[0]


def _find(ends: FloatArray, point: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the column that contains `point` (rows,), given the ends of columns, and the offset within it."""
    point = np.minimum(point, np.nextafter(ends[:, -1], 0.0))
    column = (ends > point[:, None]).argmax(axis=1)
    before = np.where(column > 0, ends[np.arange(len(ends)), column - 1], 0.0)
    return column, point - before


def systematic(length: FloatArray, k: int, rng: np.random.Generator, limit: FloatArray | None = None) -> IntArray:
    """Draw `k` columns per row by systematic sampling over a random permutation.

    The lengths are laid end to end, and columns are taken at unit steps from a random start. A column of length
    p <= 1 is drawn at most once, with probability exactly p (Madow 1949). With `limit` (rows, columns), a column
    is a group of that many arms and may be drawn that many times.

    Parameters: `length` (rows, columns), >= 0, each row summing to `k`. Returns (rows, k), ascending.

    >>> p = np.tile([0.2, 0.8, 1.0], (1000, 1))
    >>> arms = systematic(p, 2, np.random.default_rng(0))
    >>> arms.shape, bool((arms == 2).any(axis=1).all()), float((arms == 0).any(axis=1).mean().round(1))
    ((1000, 2), True, 0.2)
    """
    order = rng.random(length.shape).argsort(axis=1)
    ends = np.cumsum(np.take_along_axis(length, order, 1), axis=1)
    ends *= (k / ends[:, -1])[:, None]
    steps = np.ceil(ends - rng.random((len(length), 1)))
    steps[:, -1] = k
    taken = np.diff(steps, axis=1, prepend=0.0)
    most = 1.0 if limit is None else np.take_along_axis(limit, order, 1)
    failed = ((taken > most) | (taken < 0)).any(axis=1)
    taken[failed] = 0
    columns = np.empty((len(length), k), dtype=np.int64)
    columns[~failed] = np.sort(np.repeat(order.ravel(), taken.ravel().astype(np.int64)).reshape(-1, k), axis=1)
    if failed.any():  # rounding put two unit steps into one column
        columns[failed] = systematic(length[failed], k, rng, None if limit is None else limit[failed])
    return columns


def dependent(p: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Draw `k` columns per row by dependent rounding: inclusion probabilities p, negatively correlated.

    Fractional columns meet in pairs, as in a knock-out tournament. Each pair shifts probability from one column to
    the other until one of them is 0 or 1; the other goes on to the next pair.

    Parameters: `p` (rows, columns) in [0, 1], each row summing to `k`. Returns (rows, k), ascending.

    >>> p = np.tile([0.2, 0.8, 0.5, 0.5], (1000, 1))
    >>> arms = dependent(p, 2, np.random.default_rng(0))
    >>> arms.shape, [float((arms == i).any(axis=1).mean().round(1)) for i in range(4)]
    ((1000, 2), [0.2, 0.8, 0.5, 0.5])

    Gandhi, Khuller, Parthasarathy and Srinivasan 2006, "Dependent rounding and its applications".
    """
    out = np.array(p, dtype=np.float64)
    rows = np.arange(len(out))[:, None]
    column = np.broadcast_to(np.arange(out.shape[1]), out.shape)
    while column.shape[1] > 1:
        odd = column[:, column.shape[1] - column.shape[1] % 2 :]
        left, right = column[:, : column.shape[1] - 1 : 2], column[:, 1::2]
        a, b = out[rows, left], out[rows, right]
        full = a + b > 1
        chance = np.where(full, 1 - b, a)
        whole = np.where(full, 2 - a - b, a + b)
        left_high = rng.random(a.shape) * whole < chance
        high, low = np.where(full, 1.0, a + b), np.where(full, a + b - 1.0, 0.0)
        out[rows, left] = np.where(left_high, high, low)
        out[rows, right] = np.where(left_high, low, high)
        column = np.concatenate([np.where(left_high == full, right, left), odd], axis=1)
    return np.nonzero(np.rint(out))[1].reshape(len(out), k)


def one_below(limits: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw a uniform integer from 0 to limit - 1 for each of `limits` (m,)."""
    if len(limits) > 8:
        return rng.integers(0, limits)
    return np.array([rng.integers(limit) for limit in limits.tolist()], dtype=np.int64)  # few: faster one by one


def distinct_ranks(sizes: IntArray, counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw `counts` distinct integers below `sizes` for each row (Floyd): (rows, largest count), padded with -1."""
    width = int(counts.max(initial=0))
    ranks = np.full((len(sizes), width), -1, dtype=np.int64)
    for j in range(width):
        active = j < counts
        highest = np.where(active, sizes - counts + j, 0)
        pick = rng.integers(0, highest + 1)
        if j:
            pick = np.where((ranks == pick[:, None]).any(axis=1), highest, pick)
        ranks[:, j] = np.where(active, pick, -1)
    return ranks
