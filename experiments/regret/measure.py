"""Play policies on environments: the regret of every run, and both sides of Theorem 1 as printed and as proved."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat, tee
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Policy, make_policy
from banditplex.bandits.play import Round, play
from banditplex.rng import stream
from experiments.regret.environments import ENVIRONMENTS, Game
from experiments.regret.settings import COUNTER_EXAMPLES

Array = NDArray[np.float64]
Policies = Mapping[str, tuple[str, dict[str, Any]]]
"""Label -> registry name and options."""


class Result(NamedTuple):
    """The regret (runs,) of one policy in one environment at one size."""

    environment: str
    policy: str
    arms: int
    k: int
    horizon: int
    regret: Array


def game_of(environment: str, *, runs: int, arms: int, horizon: int, seed: int) -> Game:
    """Return the game that every policy plays at this size with this seed."""
    means = stream(seed, "means", environment, runs, arms, horizon)
    return ENVIRONMENTS[environment].start(means, runs=runs, arms=arms, horizon=horizon)


def rounds(policy: Policy, game: Game, *, seed: int) -> Iterator[Round]:
    """Let `policy` play `game`; the same seed brings the same losses, whatever the policy."""
    return play(policy, game.losses(stream(seed, "losses")), stream(seed, "draws"), expected=game.expected())


def measure(
    environment: str, policies: Policies, arms: int, horizon: int, *, runs: int, seed: int, k: int = 1
) -> Iterator[Result]:
    """Yield the regrets of every policy in a game of an environment."""
    game = game_of(environment, runs=runs, arms=arms, horizon=horizon, seed=seed)
    for label, (name, options) in policies.items():
        policy = make_policy(name, num_arms=arms, k=k, num_instances=runs, **options)
        (last,) = deque(rounds(policy, game, seed=seed), maxlen=1)
        yield Result(environment, label, arms, k, horizon, np.asarray(last.regret))


# Theorem 1


class Sides(NamedTuple):
    """Both sides of the theorem in one round, per run (runs,)."""

    regret: Array
    printed_bound: Array
    estimated_regret: Array
    estimated_bound: Array


def follow(losses: Iterable[Array], rng: np.random.Generator, *, runs: int, arms: int) -> Iterator[Sides]:
    """Let Exp3+ play against losses (runs, arms) and yield both sides of Theorem 1, as printed and as proved.

    printed: regret <= 6 sqrt(V ln n) + 10 M ln n, V = sum_t Var_{i ~ p_t} l_ti and M = max_t range of l_t;
    proved: estimated regret <= 6 E + 4 E ln n + 6 sqrt(V ln n), E and V of the estimated losses.
    """
    policy = make_policy("exp3+", num_arms=arms, num_instances=runs)
    variance, widest, log = np.zeros(runs), np.zeros(runs), math.log(arms)
    shown, played = tee(losses)
    for loss, row in zip(shown, play(policy, played, rng), strict=True):
        mean = np.einsum("rn,rn->r", row.inclusion, loss)
        variance += np.einsum("rn,rn->r", row.inclusion, (loss - mean[:, None]) ** 2)
        widest = np.maximum(widest, np.ptp(loss, axis=1))
        printed = 6.0 * np.sqrt(variance * log) + 10.0 * widest * log
        yield Sides(*map(np.asarray, (row.regret, printed, row.estimated_regret, row.bound)))


def follow_example(game: str, *, runs: int, seed: int) -> Iterator[Sides]:
    """Play a counter-example, whose losses are constant."""
    losses, horizon = np.array(COUNTER_EXAMPLES[game][0]), COUNTER_EXAMPLES[game][1]
    rows = repeat(np.tile(losses, (runs, 1)), horizon)
    return follow(rows, stream(seed, "theorem", game), runs=runs, arms=len(losses))


def compare(game: str, arms: int, horizon: int, *, runs: int, seed: int) -> dict[str, Any]:
    """Return both sides of the theorem at the end of a counter-example or, with its losses, of an environment.

    These are means over runs; `printed_fails` and `estimated_fails` are the shares of runs in which a bound fails.
    """
    if game in COUNTER_EXAMPLES:
        sides = follow_example(game, runs=runs, seed=seed)
    else:
        losses = game_of(game, runs=runs, arms=arms, horizon=horizon, seed=seed).losses(stream(seed, "losses"))
        sides = follow(losses, stream(seed, "draws"), runs=runs, arms=arms)
        game = f"{game}, {arms} arms, {horizon} rounds"
    (last,) = deque(sides, maxlen=1)
    found = last._asdict() | {
        "printed_fails": last.regret > last.printed_bound,
        "estimated_fails": last.estimated_regret > last.estimated_bound,
    }
    return {"game": game} | {name: float(np.mean(values)) for name, values in found.items()}
