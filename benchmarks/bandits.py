"""Bandits: a round against one exp and one cumsum, against river's Exp3, and the memory of many unseen arms."""

import tracemalloc
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.bandit import Exp3

from banditplex.bandits import Observations, Policy, make_policy

GIBIBYTE = 2**30


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Return the least processor time, in seconds, that `work` took."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def see_all_arms(policy: Policy, losses: NDArray[np.float64], rng: np.random.Generator) -> None:
    """Play one round in which every loss is observed, so that no arm is left to save work on."""
    draw = policy.draw(rng)
    free = np.ones((policy.num_instances, policy.num_arms), dtype=bool)
    np.put_along_axis(free, draw.arms, False, 1)
    instance, arm = np.nonzero(free)
    policy.update(draw, losses[draw.arms], extra=Observations(instance, arm, losses[arm], probability=1.0))


def round_of(policy: Policy, losses: NDArray[np.float64], rng: np.random.Generator) -> Callable[[], None]:
    """Return a function that draws and updates once."""

    def play() -> None:
        draw = policy.draw(rng)
        policy.update(draw, losses[draw.arms])

    return play


def against_numpy(name: str, instances: int = 1000, arms: int = 999, repeats: int = 15) -> float:
    """Return the time of a round, all arms seen, over that of one exp and one cumsum of the same size."""
    rng = np.random.default_rng(0)
    losses, x = rng.random(arms), -5 * rng.random((instances, arms))
    policy = make_policy(name, num_arms=arms, num_instances=instances)
    see_all_arms(policy, losses, rng)
    play = round_of(policy, losses, rng)
    ratios = []
    for _ in range(5):
        yardstick = best_time(lambda: (np.exp(x), np.cumsum(x, axis=1)), repeats)
        ratios.append(best_time(play, repeats) / yardstick)
    return float(np.median(ratios))


def against_river(name: str, instances: int = 1000, arms: int = 36, repeats: int = 15) -> float:
    """Return how many times faster a round of one instance is than a round of river's Exp3."""
    rng = np.random.default_rng(0)
    losses = rng.random(arms)
    policy = make_policy(name, num_arms=arms, num_instances=instances)
    see_all_arms(policy, losses, rng)
    play, names = round_of(policy, losses, rng), list(range(arms))
    theirs: Any = Exp3(gamma=0.1, seed=0)

    def hundred_rounds() -> None:
        for _ in range(100):
            arm = theirs.pull(names)
            theirs.update(arm, 1 - losses[arm])

    ratios = []
    for _ in range(5):
        ours = best_time(play, repeats) / instances
        ratios.append(best_time(hundred_rounds, repeats) / 100 / ours)
    return float(np.median(ratios))


def memory(name: str, instances: int = 10_000, arms: int = 9_999, rounds: int = 200) -> tuple[float, float]:
    """Return the bytes of the state after some rounds and the most held at any time, in GiB."""
    rng = np.random.default_rng(0)
    tracemalloc.start()
    policy = make_policy(name, num_arms=arms, num_instances=instances)
    play = round_of(policy, rng.random(arms), rng)
    for _ in range(rounds):
        play()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return policy.nbytes / GIBIBYTE, peak / GIBIBYTE


def main() -> None:
    print("1,000 x 999, round / (exp + cumsum)   bar: at most 6")
    for name in ("hinted", "exp3+"):
        print(f"  {name:10s} {against_numpy(name):8.2f}")
    print("36 arms, river's Exp3 / round of one instance")
    for name, bar in (("hinted", 10), ("exp3+", 20)):
        print(f"  {name:10s} {against_river(name):8.1f}   bar: at least {bar}")
    print("10,000 x 9,999 after 200 rounds, GiB of state and at most   bar: below 1")
    for name in ("hinted", "exp3+"):
        state, peak = memory(name)
        print(f"  {name:10s} {state:8.3f} {peak:8.3f}")


if __name__ == "__main__":
    main()
