"""Play policies on environments and say what regret every run had."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Policy, make_policy
from banditplex.bandits.play import Round, play
from banditplex.experiments.regret.environments import ENVIRONMENTS, Game
from banditplex.rng import stream

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
    environments: Iterable[str],
    policies: Policies,
    sizes: Iterable[tuple[int, int]],
    *,
    runs: int,
    seed: int,
    k: int = 1,
) -> Iterator[Result]:
    """Yield the regrets of every policy in every environment at every size (arms, horizon)."""
    environments = list(environments)
    for arms, horizon in sizes:
        for environment in environments:
            game = game_of(environment, runs=runs, arms=arms, horizon=horizon, seed=seed)
            for label, (name, options) in policies.items():
                policy = make_policy(name, num_arms=arms, k=k, num_instances=runs, **options)
                (last,) = deque(rounds(policy, game, seed=seed), maxlen=1)
                yield Result(environment, label, arms, k, horizon, np.asarray(last.regret))
