"""The default policy: Hedge on surprises, with a learning rate that needs no constants."""

from math import log
from typing import final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.hedge import hedge_round, soft_smallest
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.rounding import FloatArray, IntArray, row_sum
from banditplex.bandits.state import Rows
from banditplex.bandits.values import Feedback

TIE = 1e-13
"""A difference below this part of the larger number counts as 0: equal losses stay equal if sums round."""


@register("hinted", "default")
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

    def _marginals(self, rows: Rows) -> Marginals:
        n, k, state = self.num_arms, self.k, self._state
        t = self._round(rows)
        f, eta = self._rates(rows, t)
        p, scale, _ = soft_smallest(state.read("L", rows), f * eta, k, state.size(rows))
        everywhere = np.minimum((1 + 4 / n) / 20, np.sqrt(n * log(n / k) / k / t))
        c = state.read("c", rows)
        if all_seen(c):
            p *= ((1 - everywhere) * scale)[:, None]
            p += (everywhere * k / n)[:, None]
        else:
            unseen = c == 0
            seen = c.shape[1] - unseen.sum(axis=1)
            new = np.where((t > 1) & (seen < n), t**-0.5, 0.0)
            each = np.minimum(1.0, k / np.maximum(n - seen, 1))
            others = (k - (n - seen) * each) / np.maximum(seen, 1)
            p *= ((1 - everywhere - new) * scale)[:, None]
            if_unseen, if_seen = everywhere * (k / n) + new * each, everywhere * (k / n) + new * others
            p += np.where(unseen, if_unseen[:, None], if_seen[:, None])
        return state.marginals(rows, p if k == 1 else np.minimum(p, 1.0))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        owner = self._instances(rows)[seen.row]
        column = self._state.touch(owner, seen.arm)
        if self.num_arms > self.k:
            self._descend(rows, seen, column)
        self._note(owner, column, seen.loss)

    def _advise(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> None:
        self._note(instance, self._state.touch(instance, arm), loss)

    def _round(self, rows: Rows) -> FloatArray:
        """Return the number of the round, from 1: (rows,), or (1,) if it is the same for all, which is faster."""
        t = self._state.instance["t"][rows] + 1.0
        return t[:1] if (t == t[0]).all() else t

    def _rates(self, rows: Rows, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f, what is kept of the past, and eta (rows,), infinite where S is 0."""
        f = np.maximum(t - 1.0, 1.0) / t
        with np.errstate(divide="ignore", over="ignore"):
            eta = self._spread / (f * self._state.instance["S"][rows])
        return f, eta

    def _descend(self, rows: Rows, seen: Feedback, column: IntArray) -> None:
        """Add the estimates of the round to L, and what Hedge lost beyond its potential to S."""
        state = self._state
        t = self._round(rows)
        f, eta = self._rates(rows, t)
        losses = self._estimates(rows, seen, column, t)
        L, gap = hedge_round(state.read("L", rows) * f[:, None], losses, eta, self.k, state.size(rows))
        state.write("L", rows, L)
        S = state.instance["S"]
        S[rows] = f * S[rows] + gap

    def _estimates(self, rows: Rows, seen: Feedback, column: IntArray, t: FloatArray) -> FloatArray:
        """Return (h - min h) + (l - h) g for every arm (rows, columns); all 0 in the first round."""
        hint, lowest = hints(self._state.read("m", rows), self._state.read("c", rows))
        believed = hint[seen.row, column]
        cap = np.minimum(t, np.sqrt(self.num_arms * t / self._spread))
        cap = cap[seen.row] if len(cap) > 1 else cap
        weight = np.minimum(1 / np.maximum(seen.probability, 1e-300), cap)
        losses: FloatArray = hint - lowest[:, None]
        losses[losses < TIE * lowest[:, None]] = 0.0
        surprise = seen.loss - believed
        surprise[np.abs(surprise) < TIE * np.maximum(seen.loss, believed)] = 0.0
        losses[seen.row, column] += surprise * weight
        if t.min() == 1:
            losses[np.broadcast_to(t == 1, len(losses))] = 0.0
        return losses

    def _note(self, instance: IntArray, column: IntArray, loss: FloatArray) -> None:
        """Count a loss of each (instance, column) and move the hint towards it."""
        count = self._state.get("c", instance, column) + 1
        old = self._state.get("m", instance, column)
        new = np.where(count == 1, loss, old + np.maximum(1 / count, 0.25) * (loss - old))
        self._state.put("c", instance, column, count)
        self._state.put("m", instance, column, new)


def all_seen(c: IntArray) -> bool:
    """Say whether no count (rows, columns) is 0; the first tells at once while unseen arms share a column."""
    return bool(c[0, 0] > 0 and c.min() > 0)


def hints(m: FloatArray, c: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the hint of each arm (rows, columns), for unseen ones the mean of the seen, and the lowest."""
    if all_seen(c):
        return m, m.min(axis=1)
    unseen = c == 0
    count = c.shape[1] - unseen.sum(axis=1)
    lowest = np.where(count > 0, np.where(unseen, np.inf, m).min(axis=1), 0.0)
    above = np.where(unseen, 0.0, m - lowest[:, None])
    mean = lowest + row_sum(above) / np.maximum(count, 1)
    return np.where(unseen, mean[:, None], m), lowest
