"""From regrets to tables: relative regret, its standard error, and what was expected."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table

from banditplex.experiments.regret.environments import MAIN
from banditplex.experiments.regret.measure import Result
from banditplex.experiments.regret.settings import REFERENCE
from banditplex.experiments.regret.theorem import Comparison

Array = NDArray[np.float64]


class Cell(NamedTuple):
    """The relative regret of a policy, its standard error and, where there is one, the number to expect."""

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
    """Return the numbers to expect, as expected.toml has them."""
    return tomllib.loads(files(__package__).joinpath("expected.toml").read_text(encoding="utf-8"))


def expected_relative(environment: str, policy: str, arms: int, k: int, horizon: int) -> float | None:
    """Return the relative regret to expect, if any; `mean` is over the main environments.

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
    """Return the cells, and behind those of each size their means over environments."""
    sizes: dict[tuple[int, int], dict[str, list[Cell]]] = {}
    for cell in some:
        sizes.setdefault((cell.arms, cell.horizon), {}).setdefault(cell.policy, []).append(cell)
    rows: list[Cell] = []
    for policies in sizes.values():
        rows += [cell for group in policies.values() for cell in group]
        rows += [mean(group) for group in policies.values()]
    return rows


def tables(rows: Sequence[Cell]) -> Group:
    """Return a table for every size: environments down, policies across, expected numbers in brackets."""
    found = []
    for arms, horizon in dict.fromkeys((row.arms, row.horizon) for row in rows):
        some = [row for row in rows if (row.arms, row.horizon) == (arms, horizon)]
        drawn = f"{arms} arms" if some[0].k == 1 else f"{some[0].k} of {arms} arms"
        found.append(_table(some, f"Relative regret, {drawn}, {horizon} rounds"))
    return Group(*found)


def free_table(rows: Sequence[Cell]) -> Table:
    """Return the table of free observations."""
    return _table(rows, "Relative regret, layers/targets/k/rounds", "free observations")


def _table(rows: Sequence[Cell], title: str, first: str = "environment") -> Table:
    policies = list(dict.fromkeys(row.policy for row in rows))
    beside = any(row.expected is not None for row in rows)
    view = Table(title=title + " (expected)" * beside, title_justify="left")
    view.add_column(first, no_wrap=True)
    for policy in policies:
        view.add_column(policy, justify="right", no_wrap=True)
    for environment in dict.fromkeys(row.environment for row in rows):
        if environment == "mean":
            view.add_section()
        found = {row.policy: row for row in rows if row.environment == environment}
        view.add_row(environment, *(_text(found[policy]) for policy in policies))
    return view


def _text(cell: Cell) -> str:
    beside = "" if cell.expected is None else f" ({cell.expected:.3f})"
    return f"{cell.relative:.3f}{beside}"


def theorem_table(rows: Sequence[Comparison]) -> Table:
    """Return the table of Theorem 1: what it bounds and by what, printed and proved."""
    view = Table("game", title="Theorem 1 against Exp3+, means over runs (expected)", title_justify="left")
    for heading in ("regret", "printed bound", "estimated regret", "bound of the estimates"):
        view.add_column(heading, justify="right")
    for row in rows:
        expected = expected_numbers()["theorem"][row.game]
        printed = (
            f"{row.regret:.1f} ({expected['regret']})",
            f"{row.printed_bound:.1f} ({expected['bound']})",
        )
        view.add_row(row.game, *printed, f"{row.estimated_regret:.1f}", f"{row.estimated_bound:.1f}")
    return view
