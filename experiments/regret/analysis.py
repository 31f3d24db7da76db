"""From regrets to relative regret, its standard error and the expected number."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.regret.environments import MAIN
from experiments.regret.measure import Result
from experiments.regret.settings import REFERENCE

Array = NDArray[np.float64]


class Cell(NamedTuple):
    """The relative regret of a policy, its standard error and the expected number, if there is one."""

    environment: str
    policy: str
    arms: int
    k: int
    horizon: int
    relative: float
    error: float
    expected: float | None


def relative_regret(regret: Array, reference: Array) -> tuple[float, float]:
    """Return sum(regret) / sum(reference) and the standard error of that ratio, over paired runs.

    >>> relative_regret(np.array([1.0, 3.0]), np.array([4.0, 4.0]))
    (0.5, 0.25)
    """
    ratio = float(regret.sum() / reference.sum())
    rest = regret - ratio * reference
    return ratio, float(np.sqrt(np.sum(rest**2) * len(rest) / max(1, len(rest) - 1)) / reference.sum())


@cache
def expected_numbers() -> dict[str, Any]:
    """Return the content of expected.toml."""
    return tomllib.loads(files(__package__).joinpath("expected.toml").read_text(encoding="utf-8"))


def expected_relative(environment: str, policy: str, arms: int, k: int, horizon: int) -> float | None:
    """Return the expected relative regret, if any; `mean` is over the main environments.

    >>> expected_relative("late", "hinted", 5, 1, 200), expected_relative("late", "hinted", 5, 2, 200)
    (0.412, None)
    """
    numbers, size = expected_numbers(), f"{arms}x{horizon}" if k == 1 else f"{arms}x{horizon}, k={k}"
    table = numbers["environment"].get(size, {})
    if environment == "mean":
        table, environment = numbers["mean"], size
    elif environment in numbers["free"]:
        table = numbers["free"]
    found: dict[str, float] = dict(zip(table.get("policies", []), table.get(environment, []), strict=False))
    return found.get(policy)


def cells(results: Iterable[Result]) -> Iterator[Cell]:
    """Yield relative regrets; in every game the reference policy comes first."""
    for result in results:
        if result.policy == REFERENCE:
            reference = result
            continue
        place = result[:5]
        yield Cell(*place, *relative_regret(result.regret, reference.regret), expected_relative(*place))


def mean(some: Sequence[Cell]) -> Cell:
    """Return the mean of one policy over environments, at one size."""
    _, policy, arms, k, horizon, *_ = some[0]
    whole = tuple(cell.environment for cell in some) == MAIN
    relative = sum(cell.relative for cell in some) / len(some)
    error = sum(cell.error**2 for cell in some) ** 0.5 / len(some)
    expected = expected_relative("mean", policy, arms, k, horizon) if whole else None
    return Cell("mean", policy, arms, k, horizon, relative, error, expected)


def with_means(some: Iterable[Cell]) -> list[Cell]:
    """Return the cells of each size, followed by their means over environments."""
    sizes: dict[tuple[int, int], dict[str, list[Cell]]] = {}
    for cell in some:
        sizes.setdefault((cell.arms, cell.horizon), {}).setdefault(cell.policy, []).append(cell)
    rows: list[Cell] = []
    for policies in sizes.values():
        rows += [cell for group in policies.values() for cell in group]
        rows += [mean(group) for group in policies.values()]
    return rows
