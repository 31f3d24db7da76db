"""From regrets to relative regret, its standard error and the expected number."""

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.regret.environments import MAIN
from experiments.regret.measure import Result
from experiments.regret.settings import DETAILED, REFERENCE

Array = NDArray[np.float64]


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


def cells(results: Iterable[Result]) -> Iterator[dict[str, Any]]:
    """Yield rows of relative regret, its standard error and the expected number, which is None if there is none.

    In every game the reference policy comes first.
    """
    for result in results:
        if result.policy == REFERENCE:
            reference = result.regret
            continue
        place = result._asdict()
        relative, error = relative_regret(place.pop("regret"), reference)
        yield place | {"relative": relative, "error": error, "expected": expected_relative(**place)}


def with_means(rows: Iterable[Any]) -> pd.DataFrame:
    """Return a table of cells and of their means over environments, sizes rising, in the order of the environments.

    It has a column `size`, too: arms and rounds in words.
    """
    table = pd.DataFrame(rows).astype({"expected": float})
    groups: Any = table.groupby(["policy", "arms", "k", "horizon"], sort=False)
    means: pd.DataFrame = groups.agg(
        {"relative": "mean", "error": lambda each: np.linalg.norm(each) / len(each)}
    ).reset_index()
    if set(table["environment"]) == set(MAIN):
        means["expected"] = [expected_relative("mean", *place) for place, _ in groups]
    table = pd.concat([table, means.assign(environment="mean")])
    table["size"] = [f"{arms} arms, {rounds} rounds" for arms, rounds in zip(table.arms, table.horizon, strict=True)]
    order = table["environment"].map({name: place for place, name in enumerate(MAIN)})  # NaN, and last, for others
    return table.assign(order=order).sort_values(["arms", "horizon", "order"], ignore_index=True).drop(columns="order")


def means_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means over environments."""
    return table[table["environment"] == "mean"]


def detailed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of the sizes whose environments are listed one by one."""
    chosen = table[[size in DETAILED for size in zip(table["arms"], table["horizon"], strict=True)]]
    return chosen if len(chosen) else table


def by_policy(table: pd.DataFrame, lines: str, values: str = "relative") -> pd.DataFrame:
    """Return one column of cells as a table with a line per size or environment and a column per policy."""
    column: Any = table.set_index([lines, "policy"])[values]
    return pd.DataFrame(column.unstack(sort=False))
