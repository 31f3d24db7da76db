"""The report of the regret experiment: every number comes from the rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.markdown import markdown_table, number
from experiments.regret import figures, settings
from experiments.regret.analysis import Cell, expected_numbers, with_means
from experiments.regret.environments import MAIN
from experiments.regret.measure import BoundCheck
from experiments.runner import Page

Rows = list[dict[str, Any]]
CLOSE = 0.03
"""A number is as expected if it lies within this distance, plus two standard errors."""
INTRODUCTION = (
    "Relative regret is a policy's regret over that of uniform draws, both summed over runs and measured with expected "
    "losses against the best fixed arm: 1 is uniform, 0 is the best arm from the start. Expected numbers, from an "
    "earlier implementation, are in brackets. Policies and environments are explained in `docs/bandits.md`.\n"
)


def make_page(rows: Rows, *, parts: Sequence[str], seed: int, quick: bool, runs: int | None = None) -> Page:
    """Return the page of some parts: their sections, tables and figures."""
    tables = {name: [row for row in rows if row["table"] == name] for name in ("main", "held-out", "free")}
    main, held, free = (as_cells(some) for some in tables.values())
    examples, bounds = (as_comparisons(rows, table) for table in ("example", "bound"))
    tables["theorem"] = [row for row in rows if row["table"] in ("example", "bound")]

    def draw(folder: Path) -> None:
        if main:
            figures.draw_sizes(folder, main)
            figures.draw_environments(folder, [cell for cell in main if _size(cell) in settings.DETAILED] or main)
        if examples:
            played = next(row["runs"] for row in rows if row["table"] == "example")
            names = [comparison.game for comparison in examples]
            figures.draw_theorem(folder, names, [*examples, *bounds], runs=played, seed=seed)
        if "probabilities" in parts:
            games = settings.QUICK_FIGURE_GAMES if quick else settings.FIGURE_GAMES
            usual = settings.QUICK_RUNS if quick else settings.RUNS
            figures.draw_probabilities(folder, games, runs=runs or usual, seed=seed)

    sections = [
        *(main_section(main) if main else ()),
        *(held_out_section(held) if held else ()),
        *(theorem_section(examples, bounds) if examples else ()),
        *(free_section(free) if free else ()),
        *(["## Probabilities over time\n", "![Probability of the best arm](probabilities.png)\n"]
          if "probabilities" in parts else ()),
    ]  # fmt: skip
    kept = {name: pd.DataFrame(some).drop(columns="table") for name, some in tables.items() if some}
    return Page("Regret of the policies", [INTRODUCTION, *sections], kept, draw)


def as_cells(rows: Rows) -> list[Cell]:
    """Return rows of regrets as cells, sizes rising, with the means over environments of each size."""
    order = {name: place for place, name in enumerate(MAIN)}
    some = [Cell(*(row[name] for name in Cell._fields)) for row in rows]
    some.sort(key=lambda cell: (*_size(cell), order.get(cell.environment, len(order))))
    return with_means(some)


def as_comparisons(rows: Rows, table: str) -> list[BoundCheck]:
    """Return rows of the theorem's table."""
    return [BoundCheck(*(row[name] for name in BoundCheck._fields)) for row in rows if row["table"] == table]


# The sections


def main_section(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the section on the main environments."""
    yield "## By size\n"
    yield f"{judge(cells)}\n"
    yield "![Relative regret by size](sizes.png)\n"
    yield "Means over environments.\n"
    yield by_size(cells)
    yield from _by_environment(cells)
    yield "![Relative regret by environment](environments.png)\n"


def held_out_section(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the section on the held-out environments."""
    yield "## Held-out environments\n"
    yield "No policy was designed on these.\n"
    yield by_size(cells)
    yield from _by_environment(cells)


def theorem_section(examples: Sequence[BoundCheck], bounds: Sequence[BoundCheck]) -> Iterator[str]:
    """Yield the section on Theorem 1: its counter-examples, and both sides in every environment."""
    yield "## Theorem 1 beside the regret of Exp3+\n"
    yield f"{judge_theorem([*examples, *bounds])}\n"
    yield "![Regret and bounds](theorem.png)\n"
    yield theorem_table(examples)
    yield theorem_table(bounds)
    yield (
        "The printed bound uses variance and range of the true losses. The bound of the estimates is what the proof "
        "gives before they are swapped; it holds for every sequence of draws. A bound fails in a run if the final "
        "regret is larger.\n"
    )


def free_section(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the section on free observations."""
    yield "## Free observations\n"
    yield "What `hinted` gains when targets of one step see each other's layers (layers/targets per step/k/rounds).\n"
    yield _table(cells, "case", lambda cell: cell.environment)


def judge(cells: Sequence[Cell]) -> str:
    """Say how many numbers are as expected, and which policy is best where."""
    known = [cell for cell in cells if cell.expected is not None]
    means = [cell for cell in cells if cell.environment == "mean"]
    text = ""
    if known:
        good = [cell for cell in known if _apart(cell) <= CLOSE + 2 * cell.error]
        far = max(known, key=_apart)
        text = (
            f"{len(good)} of {len(known)} numbers lie within {number(CLOSE, 2)} of the expected one, plus two standard "
            f"errors; the farthest is {far.policy} in {far.environment} at {far.arms} arms, {far.horizon} "
            f"rounds: {number(far.relative)} instead of {number(far.expected or 0.0)}. "
        )
    sizes = list(dict.fromkeys(map(_size, means)))
    best = [min((cell for cell in means if _size(cell) == size), key=lambda cell: cell.relative) for size in sizes]
    won = {policy: sum(cell.policy == policy for cell in best) for policy in dict.fromkeys(c.policy for c in best)}
    return text + "Lowest mean: " + ", ".join(f"{name} at {n} of {len(sizes)} sizes" for name, n in won.items()) + "."


def judge_theorem(rows: Sequence[BoundCheck]) -> str:
    """Say in how many games the bounds hold."""
    printed = sum(row.regret > row.printed_bound for row in rows)
    proved = sum(row.estimated_fails > 0 for row in rows)
    return (
        f"The mean regret exceeds the printed bound in {printed} of {len(rows)} games; the bound of the estimates "
        f"fails in some run of {proved} of {len(rows)}."
    )


def by_size(cells: Sequence[Cell]) -> str:
    """Return the table of means over environments."""
    means = [cell for cell in cells if cell.environment == "mean"]
    return _table(means, "arms, rounds", lambda cell: f"{cell.arms}, {cell.horizon}")


def _by_environment(cells: Sequence[Cell]) -> Iterator[str]:
    sizes = list(dict.fromkeys(map(_size, cells)))
    for size in [size for size in sizes if size in settings.DETAILED] or sizes:
        some = [cell for cell in cells if _size(cell) == size]
        yield _table(some, f"{size[0]} arms, {size[1]} rounds", lambda cell: cell.environment)


def _table(cells: Sequence[Cell], head: str, name: Callable[[Cell], str]) -> str:
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    lines: dict[str, dict[str, str]] = {}
    for cell in cells:
        beside = "" if cell.expected is None else f" ({number(cell.expected)})"
        lines.setdefault(name(cell), {})[cell.policy] = number(cell.relative) + beside
    return markdown_table(
        [head, *policies], ([line, *(found[policy] for policy in policies)] for line, found in lines.items())
    )


def theorem_table(rows: Sequence[BoundCheck]) -> str:
    """Return the table of both sides of the theorem."""
    expected = expected_numbers()["theorem"]
    heads = [
        "game", "regret", "printed bound", "fails in", "estimated regret", "bound of the estimates", "fails in"
    ]  # fmt: skip
    lines = []
    for row in rows:
        beside = expected.get(row.game)
        regret, bound = (f" ({beside[name]:g})" if beside else "" for name in ("regret", "bound"))
        lines.append([
            row.game, f"{row.regret:.1f}{regret}", f"{row.printed_bound:.1f}{bound}", f"{row.printed_fails:.0%}",
            f"{row.estimated_regret:.1f}", f"{row.estimated_bound:.1f}", f"{row.estimated_fails:.0%}",
        ])  # fmt: skip
    return markdown_table(heads, lines)


def _size(cell: Cell) -> tuple[int, int]:
    return cell.arms, cell.horizon


def _apart(cell: Cell) -> float:
    assert cell.expected is not None
    return abs(cell.relative - cell.expected)
