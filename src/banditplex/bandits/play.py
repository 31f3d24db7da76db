"""Play a policy against given losses, and measure its regret after each round."""

import math
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditplex.bandits.base import Policy
from banditplex.bandits.rounding import FloatArray, IntArray
from banditplex.bandits.values import FLOAT, Draw, check_losses, check_shape, convert


class Round(NamedTuple):
    """The outcome of one round. The first axis of arrays is the instance; it is dropped if losses are rows (n,).

    `regret` is the expected loss so far minus the loss of the best fixed set K of k arms,
    sum_t <p_t, l_t> - min_K sum_t sum_{i in K} l_ti. `estimated_regret` is the same for the estimates,
    l / p for drawn arms and 0 for the others. `bound` is an upper bound on it for the policy `exp3+`:

        6 k E + 4 E D + 6 sqrt(V D),    D = k ln(n / k),    E = max(1, largest l / p),
        V = sum over rounds of (sum over drawn of l^2 / p - (sum over drawn of l)^2 / k).
    """

    round: int
    arms: IntArray
    probability: FloatArray
    inclusion: FloatArray
    loss: FloatArray | np.float64
    expected_loss: FloatArray | np.float64
    regret: FloatArray | np.float64
    estimated_regret: FloatArray | np.float64
    bound: FloatArray | np.float64


def play(
    policy: Policy, losses: Iterable[ArrayLike], rng: np.random.Generator, *,
    expected: Iterable[ArrayLike] | None = None,
) -> Iterator[Round]:  # fmt: skip
    """Play `policy` against `losses`, and yield a `Round` after each round.

    losses: an array (T, n) or (T, R, n), or anything that yields rows (n,) or (R, n), for a policy of R
        instances, all of which play in every round. T need not be known in advance.
    expected: expected losses, shaped like `losses`. If given, `expected_loss` and `regret` are computed from
        them, which removes the noise of single losses.

    >>> from banditplex.bandits import make_policy
    >>> losses = np.tile([0.1, 0.9, 0.8], (500, 1))
    >>> *_, last = play(make_policy("exp3+", num_arms=3), losses, np.random.default_rng(0))
    >>> last.round, bool(last.estimated_regret <= last.bound), bool(last.inclusion[0] > 0.8)
    (500, True, True)

    The bound is Theorem 1 of the paper without its last step; docs/bandits-theory.md derives it for every k.
    """
    tally = _Tally(policy)
    pairs = zip(losses, repeat(None) if expected is None else expected, strict=expected is not None)
    for number, (row, means) in enumerate(pairs, start=1):
        loss = _checked(row, policy, f"losses of round {number}")
        mean = loss if means is None else _checked(means, policy, f"expected losses of round {number}")
        draw = policy.draw(rng)
        inclusion = draw.inclusion
        drawn = np.take_along_axis(loss, draw.arms, axis=1)
        policy.update(draw, drawn)
        expected_loss = np.einsum("rn,rn->r", inclusion, mean)
        tally.add(draw, drawn, expected_loss, mean)
        parts = (draw.arms, draw.probability, inclusion, drawn.sum(axis=1), expected_loss, *tally.measure())
        yield Round(number, *(parts if np.ndim(row) == 2 else (part[0] for part in parts)))


class _Tally:
    """Running sums of a game, per instance."""

    def __init__(self, policy: Policy) -> None:
        runs, arms = policy.num_instances, policy.num_arms
        self.k = policy.k
        self.D = self.k * math.log(arms / self.k) if self.k else 0.0
        self.expected_loss, self.loss = np.zeros(runs), np.zeros(runs)
        self.arm_loss, self.estimate = np.zeros((runs, arms)), np.zeros((runs, arms))
        self.E, self.V = np.ones(runs), np.zeros(runs)

    def add(self, draw: Draw, drawn: FloatArray, expected_loss: FloatArray, mean: FloatArray) -> None:
        """Add one round: `drawn` (R, k) losses, `mean` (R, n) losses of all arms."""
        if not self.k:
            return
        estimate, total = drawn / draw.probability, drawn.sum(axis=1)
        self.loss += total
        self.expected_loss += expected_loss
        self.arm_loss += mean
        self.estimate[np.arange(len(drawn))[:, None], draw.arms] += estimate
        self.E = np.maximum(self.E, estimate.max(axis=1))
        spread = np.einsum("rk,rk->r", drawn, estimate) - total * total / self.k
        self.V += np.maximum(spread, 0.0)

    def measure(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return regret, estimated regret, and the bound on it."""
        bound = (6.0 * self.k + 4.0 * self.D) * self.E + 6.0 * np.sqrt(self.V * self.D)
        regret = self.expected_loss - _smallest(self.arm_loss, self.k)
        return regret, self.loss - _smallest(self.estimate, self.k), bound


def _smallest(totals: FloatArray, k: int) -> FloatArray:
    """Return the sum of the k smallest entries of each row of `totals` (R, n)."""
    return np.partition(totals, k - 1, axis=1)[:, :k].sum(axis=1) if k > 1 else k * totals.min(axis=1)


def _checked(row: ArrayLike, policy: Policy, name: str) -> FloatArray:
    """Return `row` as valid losses (R, n)."""
    shape = (policy.num_instances, policy.num_arms)
    values = convert(row, FLOAT, name)
    check_shape(values, name, shape if values.ndim != 1 or shape[0] > 1 else shape[1:])
    instance, arm = np.divmod(np.arange(values.size), policy.num_arms)
    return check_losses(values.ravel(), name, instance, arm).reshape(shape)
