"""Writes what was measured: tables in Markdown and CSV, figures, and an index; no number is written by hand."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.experiments.regret import figure, settings
from banditplex.experiments.regret.analysis import Cell, expected_numbers, with_means
from banditplex.experiments.regret.environments import MAIN
from banditplex.experiments.regret.theorem import Comparison
from banditplex.experiments.tables import markdown_table, number
from banditplex.version import __version__

Rows = list[dict[str, Any]]
CLOSE = 0.03
"""A number is as expected if it lies within this, give or take two standard errors."""


def write(rows: Rows, folder: Path, *, command: str, seed: int, quick: bool = False) -> None:
    """Write tables, figures and index into a folder that exists."""
    tables = {table: [row for row in rows if row["table"] == table] for table in ("main", "held-out", "free")}
    main, held, free = (as_cells(some) for some in tables.values())
    bounds = {table: as_comparisons(rows, table) for table in ("example", "bound")}
    for name, some in {**tables, "theorem": [row for row in rows if row["table"] in bounds]}.items():
        kept = pd.DataFrame(some).drop(columns="table")
        kept.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
    figure.draw_sizes(folder, main)
    figure.draw_environments(folder, [cell for cell in main if _size(cell) in settings.DETAILED] or main)
    examples = [comparison.game for comparison in bounds["example"]]
    runs = next(row["runs"] for row in rows if row["table"] == "example")
    figure.draw_theorem(folder, examples, [*bounds["example"], *bounds["bound"]], runs=runs, seed=seed)
    games = settings.QUICK_FIGURE_GAMES if quick else settings.FIGURE_GAMES
    figure.draw_probabilities(folder, games, runs=settings.QUICK_RUNS if quick else settings.RUNS, seed=seed)
    page = index_page(main, held, free, bounds, command=command, seed=seed)
    (folder / "index.md").write_text(page, encoding="utf-8")


def as_cells(rows: Rows) -> list[Cell]:
    """Return rows of regrets as cells, sizes rising, with the means over environments of each size."""
    some = sorted((Cell(*(row[name] for name in Cell._fields)) for row in rows), key=lambda cell: _size(cell))
    order = {name: place for place, name in enumerate(MAIN)}
    some.sort(key=lambda cell: (*_size(cell), order.get(cell.environment, len(order))))
    return with_means(some)


def as_comparisons(rows: Rows, table: str) -> list[Comparison]:
    """Return rows of the theorem's table."""
    return [Comparison(*(row[name] for name in Comparison._fields)) for row in rows if row["table"] == table]


# The page


def index_page(
    main: Sequence[Cell],
    held: Sequence[Cell],
    free: Sequence[Cell],
    bounds: dict[str, list[Comparison]],
    *,
    command: str,
    seed: int,
) -> str:
    """Return the page that shows all tables and figures."""
    parts = [
        "# Regret of the policies\n",
        f"Made by banditplex {__version__}, seed {seed}, with\n",
        f"    $ {command}\n",
        "Relative regret is a policy's regret over that of uniform draws, both summed over runs and measured with "
        "expected losses against the best fixed arm: 1 is uniform, 0 is the best arm from the start. Numbers to "
        "expect, from an earlier implementation, stand in brackets. Policies and environments are explained in "
        "`docs/bandits.md`.\n",
        "## By size\n",
        f"{judge(main)}\n",
        "![Relative regret by size](sizes.png)\n",
        "Means over environments.\n",
        by_size(main),
        *_by_environment(main),
        "![Relative regret by environment](environments.png)\n",
        "## Held-out environments\n",
        "No policy was designed on these.\n",
        by_size(held),
        *_by_environment(held),
        "## Theorem 1 beside the regret of Exp3+\n",
        f"{judge_theorem([*bounds['example'], *bounds['bound']])}\n",
        "![Regret and bounds](theorem.png)\n",
        theorem_table(bounds["example"]),
        theorem_table(bounds["bound"]),
        "The printed bound has variance and range of the true losses; the bound of the estimates is what the proof "
        "gives before they are swapped, and holds for every sequence of draws. A bound fails in a run if the regret "
        "beside it is larger at the end.\n",
        "## Free observations\n",
        "What `hinted` gains when targets of one step see each other's layers (layers/targets per step/k/rounds).\n",
        _table(free, "case", lambda cell: cell.environment),
        "## Probabilities over time\n",
        "![Probability of the best arm](probabilities.png)\n",
    ]
    return "\n".join(parts)


def judge(cells: Sequence[Cell]) -> str:
    """Say how many numbers are as expected, and which policy is best where."""
    known = [cell for cell in cells if cell.expected is not None]
    means = [cell for cell in cells if cell.environment == "mean"]
    text = ""
    if known:
        good = [cell for cell in known if _apart(cell) <= CLOSE + 2 * cell.error]
        far = max(known, key=_apart)
        text = (
            f"{len(good)} of {len(known)} numbers with one to expect lie within {number(CLOSE, 2)} of it, give or take "
            f"two standard errors; the farthest is {far.policy} in {far.environment} at {far.arms} arms, {far.horizon} "
            f"rounds: {number(far.relative)} instead of {number(far.expected or 0.0)}. "
        )
    sizes = list(dict.fromkeys(map(_size, means)))
    best = [min((cell for cell in means if _size(cell) == size), key=lambda cell: cell.relative) for size in sizes]
    won = {policy: sum(cell.policy == policy for cell in best) for policy in dict.fromkeys(c.policy for c in best)}
    return text + "Lowest mean: " + ", ".join(f"{name} at {n} of {len(sizes)} sizes" for name, n in won.items()) + "."


def judge_theorem(rows: Sequence[Comparison]) -> str:
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
    for arms, horizon in settings.DETAILED:
        some = [cell for cell in cells if _size(cell) == (arms, horizon)]
        if some:
            yield _table(some, f"{arms} arms, {horizon} rounds", lambda cell: cell.environment)


def _table(cells: Sequence[Cell], head: str, name: Any) -> str:
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    lines: dict[str, dict[str, str]] = {}
    for cell in cells:
        beside = "" if cell.expected is None else f" ({number(cell.expected)})"
        lines.setdefault(name(cell), {})[cell.policy] = number(cell.relative) + beside
    return markdown_table(
        [head, *policies], ([line, *(found[policy] for policy in policies)] for line, found in lines.items())
    )


def theorem_table(rows: Sequence[Comparison]) -> str:
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
