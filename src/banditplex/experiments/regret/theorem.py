"""Theorem 1 of the paper against the regret of Exp3+: two games in which the printed bound fails."""

import math
from itertools import repeat
from typing import NamedTuple

import numpy as np

from banditplex.bandits import make_policy
from banditplex.bandits.play import play
from banditplex.experiments.regret.settings import COUNTER_EXAMPLES
from banditplex.rng import stream


class Comparison(NamedTuple):
    """Regret and bounds of one game, means over runs."""

    game: str
    regret: float
    printed_bound: float
    estimated_regret: float
    estimated_bound: float


def compare(game: str, *, runs: int, seed: int) -> Comparison:
    """Play Exp3+ on constant losses and measure both sides of Theorem 1, as printed and as proved.

    printed: regret <= 6 sqrt(V ln n) + 10 M ln n, V and M of the true losses, V = sum_t Var_{i ~ p_t} l_ti;
    proved: estimated regret <= 6 E + 4 E ln n + 6 sqrt(V ln n), E and V of the estimated ones.
    """
    losses, horizon = np.array(COUNTER_EXAMPLES[game][0]), COUNTER_EXAMPLES[game][1]
    policy = make_policy("exp3+", num_arms=len(losses), num_instances=runs)
    variance, last = np.zeros(runs), None
    for last in play(policy, repeat(np.tile(losses, (runs, 1)), horizon), stream(seed, "theorem", game)):
        variance += last.inclusion @ losses**2 - (last.inclusion @ losses) ** 2
    assert last is not None
    log = math.log(len(losses))
    printed = 6.0 * np.sqrt(variance * log) + 10.0 * float(np.ptp(losses)) * log
    measured = (last.regret, printed, last.estimated_regret, last.bound)
    return Comparison(game, *(float(np.mean(value)) for value in measured))
