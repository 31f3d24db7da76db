"""The default policy: Hedge on surprises, with a learning rate that needs no constants."""

from math import log
from typing import Any, final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.hedge import Weights, adaptive_smallest, hedge_round
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.rounding import FloatArray, IntArray, row_sum
from banditplex.bandits.state import Rows
from banditplex.bandits.validation import LARGEST_LOSS
from banditplex.bandits.values import Feedback

TIE = 1e-13
"""A difference below this part of the larger number counts as 0: equal losses stay equal if sums round."""

KEPT = 1 << 16
"""Up to so many weights are kept from a draw to its update: more take as long to fetch as to solve again."""
PREPARED = 4096
"""For how many rounds that which depends on their number alone is computed beforehand."""

Pace = list[float] | FloatArray
"""What the number t of the round decides: four numbers that hold for all rows, or four per row (4, rows).

f: what is kept of the past, (t - 1)/t, in the first round 1. everywhere, new: what share of the probability goes to all
arms, and to arms never seen. least: what an observation's probability counts as at least.
"""


def paces(t: FloatArray, n: int, k: int) -> FloatArray:
    """Return f, everywhere, new and least (rounds, 4) for rounds `t` (rounds,) >= 1 of a game of n > k arms."""
    everywhere = np.minimum((1 + 4 / n) / 20, np.sqrt(n * log(n / k) / k / t))
    new = np.where(t > 1, t**-0.5, 0.0)
    least = np.maximum(1 / t, np.sqrt(k * log(n / k) / (n * t)))
    return np.stack([np.maximum(t - 1, 1) / t, everywhere, new, least], axis=1)


@register("default", "hinted")
@final
class Hinted(Policy):
    """Hinted AdaHedge: exponential weights on estimates centred on what was last believed of each arm.

    Round t: w = capped_softmax(-eta f L, k) with f = (t - 1)/t and AdaHedge's eta = k ln(n/k) / (f S); a
    little of the probability goes to all arms and to arms never seen. An observed loss l moves the estimate
    from the hint h by (l - h) min(1/probability, t, sqrt(n t / (k ln(n/k)))), so that importance weights
    multiply surprises only. Multiplying all losses by a constant, or adding one, changes no probability.

    State: t, L and S as above, m (hints: running means, at least 1/4 for the newest loss) and c (times seen).
    Advisory observations change m and c.

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
            num_arms=num_arms,
            k=k,
            num_instances=num_instances,
            per_instance={"S": 0.0},
            per_arm={"L": 0.0, "m": 0.0, "c": np.int32(0)},
        )
        self._spread = self.k * log(self.num_arms / self.k)
        self._begun: tuple[Rows, FloatArray, tuple[Pace, Weights | None]] | None = None
        self._paces = paces(np.arange(1.0, PREPARED + 1), self.num_arms, self.k)

    def _marginals(self, rows: Rows) -> Marginals:
        n, k, state, size = self.num_arms, self.k, self._state, self._state.size(rows)
        (_, everywhere, new, _), weights = self._begin(rows)
        w, scale, _ = weights or self._solve(rows)
        if size is None:
            c = state.read("c", rows)
            count = num_unseen(c)
            new = new * (count > 0)
        learnt = (1 - everywhere - new) * scale
        p = np.multiply(w, learnt[:, None], out=None if weights else w)
        p += as_column(everywhere * (k / n))
        if size is not None:  # unseen arms share column 0; when `new` is not 0, they are at least k
            unseen = p[:, 0]
            unseen += new * k / size[:, 0]
        elif np.count_nonzero(count):
            each = k / np.maximum(count, k)
            others = np.maximum(k - count, 0) / np.maximum(n - count, 1)
            p += np.where(c == 0, (new * each)[:, None], (new * others)[:, None])
        return state.marginals(rows, p if k == 1 else np.minimum(p, 1.0))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        if self.k < self.num_arms:
            column = self._descend(rows, seen)
        else:
            column = self._state.touch(seen.instance, seen.arm)
        self._note(seen.instance, column, seen.loss)

    def _advise(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> None:
        self._begun = None
        self._note(instance, self._state.touch(instance, arm), loss)

    def _begin(self, rows: Rows) -> tuple[Pace, Weights | None]:
        """Return what the draw of a round and its update both need: its pace, and weights before it if these are few.

        The last answer is kept until something is learnt. It serves for the very `rows` of the draw, and while S is the
        very same array: loading a state replaces it.
        """
        S = self._state.instance["S"]
        if self._begun is None or self._begun[0] is not rows or self._begun[1] is not S:
            few = len(S[rows]) * self._state.width <= KEPT
            self._begun = rows, S, (self._pace(rows), self._solve(rows) if few else None)
        return self._begun[2]

    def _solve(self, rows: Rows) -> Weights:
        """Return w, and the potential of L at the rate f eta = k ln(n/k) / S; f times it is that of f L at eta."""
        state = self._state
        L, S = state.read("L", rows), state.instance["S"][rows]
        return adaptive_smallest(L, S, self._spread, self.k, state.size(rows))

    def _pace(self, rows: Rows) -> Pace:
        """Return what the number of the round decides; plain numbers, which are faster, if it is the same for all."""
        completed = self._state.instance["t"][rows]
        alike = len(completed) == 1 or not np.count_nonzero(completed != completed[0])
        try:
            pace: Pace = self._paces[completed[0]].tolist() if alike else self._paces[completed].T
        except IndexError:  # a round later than those that were prepared
            later = paces(completed + 1.0, self.num_arms, self.k)
            pace = later[0].tolist() if alike else later.T
        return pace

    def _descend(self, rows: Rows, seen: Feedback) -> IntArray:
        """Add the round's estimates to L, and what Hedge lost beyond its potential to S; return columns of `seen`."""
        state, was_dense = self._state, self._state.dense
        pace, weights = self._begin(rows)
        self._begun = None
        column = state.touch(seen.instance, seen.arm)
        losses = self._estimates(rows, seen, column, pace)
        if weights is None or state.dense != was_dense:  # then columns are others than before
            weights = self._solve(rows)
        w, scale, potential = weights
        f = pace[0]
        L, S = state.read("L", rows) * as_column(f), state.instance["S"][rows] * f
        before = state.widen(w), scale, potential * f
        L, S = hedge_round(before, L, losses, S, self._spread, self.k, state.size(rows))
        state.write("L", rows, L)
        state.instance["S"][rows] = S
        return column

    def _estimates(self, rows: Rows, seen: Feedback, column: IntArray, pace: Pace) -> FloatArray:
        """Return (h - min h) + (l - h) g for every arm (rows, columns); all 0 in the first round."""
        hint, lowest = hints(self._state.read("m", rows), self._state.read("c", rows))
        losses: FloatArray = hint - lowest
        losses[losses < TIE * lowest] = 0.0
        at = seen.row, column
        believed = hint[at]
        surprise = seen.loss - believed
        surprise[np.abs(surprise) < TIE * np.maximum(seen.loss, believed)] = 0.0
        f, _, _, least = pace
        if isinstance(least, np.ndarray):
            least = least[seen.row]
        losses[at] += surprise / np.maximum(seen.probability, least)
        if (first := f == 1) is not False:  # some rows, or all
            losses[first] = 0.0
        return losses

    def _note(self, instance: IntArray, column: IntArray, loss: FloatArray) -> None:
        """Count a loss of each (instance, column) and move the hint towards it."""
        m, c, at = self._state.table("m"), self._state.table("c"), (instance, column)
        count, hint = c[at] + 1, m[at]  # a hint is 0 before the first loss, which then replaces it
        c[at] = count
        m[at] = hint + np.maximum(1 / count, 0.25) * (loss - hint)


def as_column(x: Any) -> Any:
    """Return numbers per row (rows,) as a column; one number for all rows is as good as it is."""
    return x[:, None] if isinstance(x, np.ndarray) else x


def all_seen(c: IntArray) -> bool:
    """Say whether no count (rows, columns) is 0; mostly the first tells at once."""
    return bool(c.item(0) > 0 and c.min() > 0)


def num_unseen(c: IntArray) -> FloatArray:
    """Return how many counts of each row (rows, columns) are 0."""
    return np.zeros(len(c)) if all_seen(c) else (c == 0).sum(axis=1, dtype=np.float64)


def hints(m: FloatArray, c: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the hint of each arm (rows, columns), for unseen ones the mean of the seen, and the lowest (rows, 1).

    Where no arm was seen, which happens in a first round only, hints mean nothing.
    """
    if all_seen(c):
        return m, m.min(axis=1, keepdims=True)
    seen = c > 0
    lowest = np.where(seen, m, LARGEST_LOSS).min(axis=1, keepdims=True)
    above = row_sum(m - lowest, seen) / np.maximum(seen.sum(axis=1), 1)
    return np.where(seen, m, lowest + above[:, None]), lowest
