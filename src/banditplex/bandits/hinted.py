"""The default policy: AdaHedge on loss estimates that are centred on hints."""

from functools import lru_cache
from math import log
from typing import final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.hedge import Weights, adaptive_smallest, hedge_round
from banditplex.bandits.rounding import FloatArray, IntArray, row_sum
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import LARGEST_LOSS, Feedback

TIE = 1e-13  # relative differences below this count as 0, so that equal losses stay equal despite rounding
KEPT = 1 << 16  # weights that are kept from a draw to its update, at most: recomputing more is as fast as reading them
ROUNDS = 1 << 12  # rounds whose schedule is kept in a table


def schedule(t: FloatArray, n: int, k: int) -> FloatArray:
    """Return four numbers, (4, rows), for rounds `t` (rows,) >= 1 and n > k arms.

    f: discount of the past, (t - 1)/t, but 1 in the first round. explore, explore_new: share of the probability spread
    over all arms, and over arms never observed. floor: lower limit of observation probabilities in importance weights.
    """
    explore = np.minimum((1 + 4 / n) / 20, np.sqrt(n * log(n / k) / k / t))
    explore_new = np.where(t > 1, t**-0.5, 0.0)
    floor = np.maximum(1 / t, np.sqrt(k * log(n / k) / (n * t)))
    return np.stack([np.maximum(t - 1, 1) / t, explore, explore_new, floor])


@lru_cache(16)
def first_rounds(n: int, k: int) -> FloatArray:
    """Return the schedule of the first rounds, to be looked up: that is faster than to compute a few."""
    return schedule(np.arange(1, ROUNDS + 1, dtype=np.float64), n, k)


@register("default", "hinted")
@final
class Hinted(Policy):
    """Hinted AdaHedge: exponential weights on loss estimates that are centred on a hint for each arm.

    Round t: w = capped_softmax(-eta f L, k) with f = (t - 1)/t and AdaHedge's eta = k ln(n/k) / (f S). A small
    share of the probability explores all arms, and arms never observed. The estimate of an arm is its hint h; an
    observed loss l adds (l - h) min(1/probability, t, sqrt(n t / (k ln(n/k)))). Importance weights thus multiply
    only the deviation from the hint. Scaling all losses, or adding a constant to them, changes no probability.

    State: t, L and S as above, m (hints: running means, weight of the newest loss at least 1/4) and c (number of
    observations). Advisory observations change only m and c.

    >>> policy = Hinted(num_arms=3)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(50):
    ...     draw = policy.draw(rng)
    ...     policy.update(draw, losses=np.array([7.1, 7.0, 7.3])[draw.arms])
    >>> policy.inclusion().round(2).tolist()
    [[0.04, 0.92, 0.04]]

    Learning rate: de Rooij, van Erven, Gruenwald and Koolen 2014, "Follow the leader if you can, hedge if you
    must". Hints: Rakhlin and Sridharan 2013, "Online learning with predictable sequences".
    """

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1) -> None:
        super().__init__(
            num_arms=num_arms, k=k, num_instances=num_instances, per_instance={"S": 0.0},
            per_arm={"L": 0.0, "m": 0.0, "c": np.int32(0)},
        )  # fmt: skip
        self._spread = self.k * log(self.num_arms / self.k)
        self._cached: tuple[object, FloatArray, tuple[FloatArray, Weights]] | None = None

    def _marginals(self, rows: Rows) -> Marginals:
        n, k, state, size = self.num_arms, self.k, self._state, self._state.size(rows)
        (_, explore, explore_new, _), (w, scale, _) = self._shared(rows)
        if size is None:
            c = state.read("c", rows)
            count = None if all_seen(c) else (c == 0).sum(axis=1, dtype=np.float64)
            explore_new = np.zeros(1) if count is None else explore_new * (count > 0)
        if w.size > KEPT:
            self._cached = None
        p = np.multiply(w, ((1 - explore - explore_new) * scale)[:, None], out=None if self._cached else w)
        p += (explore * (k / n))[:, None]
        if size is not None:  # unseen arms share column 0; there are at least k of them unless explore_new is 0
            unseen = p[:, 0]
            unseen += explore_new * k / size[:, 0]
        elif count is not None:
            each = k / np.maximum(count, k)
            others = np.maximum(k - count, 0) / np.maximum(n - count, 1)
            p += np.where(c == 0, (explore_new * each)[:, None], (explore_new * others)[:, None])
        return state.marginals(rows, p if k == 1 else np.minimum(p, 1.0))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        if self.k < self.num_arms:
            column = self._add_estimates(rows, seen)
        else:
            column = self._state.touch(seen.instance, seen.arm)
        self._move_hints(seen.instance, column, seen.loss)

    def _advise(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> None:
        self._cached = None
        self._move_hints(instance, self._state.touch(instance, arm), loss)

    def _shared(self, rows: Rows) -> tuple[FloatArray, Weights]:
        """Return what draw and update of a round share, the schedule and the weights, cached until the next update.

        It is valid for the same array S, which is replaced when a state is loaded.
        """
        S, key = self._state.instance["S"], (rows.start, rows.stop) if isinstance(rows, slice) else rows.tobytes()
        if self._cached is None or self._cached[0] != key or self._cached[1] is not S:
            t, sizes = self._state.instance["t"][rows], (self.num_arms, self.k)
            rates = first_rounds(*sizes)[:, t] if t.max() < ROUNDS else schedule(t + 1.0, *sizes)
            self._cached = key, S, (rates, self._solve(rows))
        return self._cached[2]

    def _solve(self, rows: Rows) -> Weights:
        """Return w and the potential of L at the rate f eta = k ln(n/k) / S, which is 1/f that of f L at eta."""
        state = self._state
        L, S = state.read("L", rows), state.instance["S"][rows]
        return adaptive_smallest(L, S, self._spread, self.k, state.size(rows))

    def _add_estimates(self, rows: Rows, seen: Feedback) -> IntArray:
        """Add the estimates of the round to L and the mixability gap to S; return the columns of `seen`."""
        state, was_dense = self._state, self._state.dense
        (f, _, _, floor), weights = self._shared(rows)
        self._cached = None
        column = state.touch(seen.instance, seen.arm)
        losses = self._estimates(rows, seen, column, floor)
        losses[f == 1] = 0.0
        w, scale, potential = weights if state.dense == was_dense else self._solve(rows)  # columns changed
        L, S = state.read("L", rows) * f[:, None], state.instance["S"][rows] * f
        before = state.widen(w), scale, potential * f
        L, S = hedge_round(before, L, losses, S, self._spread, self.k, state.size(rows))
        state.write("L", rows, L)
        state.instance["S"][rows] = S
        return column

    def _estimates(self, rows: Rows, seen: Feedback, column: IntArray, floor: FloatArray) -> FloatArray:
        """Return (h - min h) + (l - h) / max(probability, floor) of every arm (rows, columns)."""
        hint, lowest = hints(self._state.read("m", rows), self._state.read("c", rows))
        losses: FloatArray = hint - lowest
        losses[losses < TIE * lowest] = 0.0
        at = seen.row, column
        believed = hint[at]
        surprise = seen.loss - believed
        surprise[np.abs(surprise) < TIE * np.maximum(seen.loss, believed)] = 0.0
        losses[at] += surprise / np.maximum(seen.probability, floor[seen.row])
        return losses

    def _move_hints(self, instance: IntArray, column: IntArray, loss: FloatArray) -> None:
        """Count one loss for each (instance, column), and move the hint towards it."""
        m, c, at = self._state.table("m"), self._state.table("c"), (instance, column)
        count, hint = c[at] + 1, m[at]  # a hint is 0 before the first loss, which then replaces it
        c[at] = count
        m[at] = hint + np.maximum(1 / count, 0.25) * (loss - hint)


def all_seen(c: IntArray) -> bool:
    """Return whether no count (rows, columns) is 0; the first count often decides."""
    return bool(c.item(0) > 0 and c.min() > 0)


def hints(m: FloatArray, c: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the hint of each arm (rows, columns), for unseen arms the mean of the seen, and the minimum (rows, 1).

    If no arm was seen, which happens only in the first round, the hints are meaningless.
    """
    if all_seen(c):
        return m, m.min(axis=1, keepdims=True)
    seen = c > 0
    lowest = np.where(seen, m, LARGEST_LOSS).min(axis=1, keepdims=True)
    above = row_sum(m - lowest, seen) / np.maximum(seen.sum(axis=1), 1)
    return np.where(seen, m, lowest + above[:, None]), lowest
