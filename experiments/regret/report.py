"""The report of the regret experiment: every number comes from the rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.markdown import markdown_table, number
from banditplex.storage.rows import Row
from experiments.regret import figures, settings
from experiments.regret.analysis import by_policy, detailed, expected_numbers, means_of, with_means
from experiments.runner import Page

CLOSE = 0.03
"""A number is as expected if it lies within this distance, plus two standard errors."""
INTRODUCTION = (
    "Relative regret is a policy's regret over that of uniform draws, both summed over runs and measured with expected "
    "losses against the best fixed arm: 1 is uniform, 0 is the best arm from the start. Expected numbers, from an "
    "earlier implementation, are in brackets. Policies and environments are explained in `docs/bandits.md`.\n"
)


def make_page(rows: list[Row], *, parts: Sequence[str], seed: int, quick: bool, runs: int | None = None) -> Page:
    """Return the page of some parts: their sections, tables and figures."""
    part_of = {"example": "theorem", "bound": "theorem"}
    tables = {
        part: pd.DataFrame(some)
        for part in settings.PARTS
        if (some := [row for row in rows if part_of.get(row["table"], row["table"]) == part])
    }

    def draw(folder: Path) -> None:
        if "main" in tables:
            cells = with_means(tables["main"])
            figures.draw_sizes(folder, means_of(cells))
            figures.draw_environments(folder, detailed(cells))
        if "theorem" in tables:
            figures.draw_theorem(folder, tables["theorem"], seed=seed)
        if "probabilities" in parts:
            games = settings.QUICK_FIGURE_GAMES if quick else settings.FIGURE_GAMES
            usual = settings.QUICK_RUNS if quick else settings.RUNS
            figures.draw_probabilities(folder, games, runs=runs or usual, seed=seed)

    sections = [text for part, table in tables.items() for text in SECTIONS[part](table)]
    if "probabilities" in parts:
        sections += ["## Probabilities over time\n", "![Probability of the best arm](probabilities.png)\n"]
    kept = {part: table.drop(columns="table") for part, table in tables.items()}
    return Page("Regret of the policies", [INTRODUCTION, *sections], kept, draw)


# The sections


def main_section(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the section on the main environments."""
    cells = with_means(rows)
    yield "## By size\n"
    yield f"{judge(cells)}\n"
    yield "![Relative regret by size](sizes.png)\n"
    yield "Means over environments.\n"
    yield from _by_size_and_environment(cells)
    yield "![Relative regret by environment](environments.png)\n"


def held_out_section(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the section on the held-out environments."""
    yield "## Held-out environments\n"
    yield "No policy was designed on these.\n"
    yield from _by_size_and_environment(with_means(rows))


def theorem_section(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the section on Theorem 1: its counter-examples, and both sides in every environment."""
    printed = (rows["regret"] > rows["printed_bound"]).sum()
    proved = (rows["estimated_fails"] > 0).sum()
    yield "## Theorem 1 beside the regret of Exp3+\n"
    yield (
        f"The mean regret exceeds the printed bound in {printed} of {len(rows)} games; the bound of the estimates "
        f"fails in some run of {proved} of {len(rows)}.\n"
    )
    yield "![Regret and bounds](theorem.png)\n"
    yield from (_theorem_table(rows[rows["table"] == table]) for table in ("example", "bound"))
    yield (
        "The printed bound uses variance and range of the true losses. The bound of the estimates is what the proof "
        "gives before they are swapped; it holds for every sequence of draws. A bound fails in a run if the final "
        "regret is larger.\n"
    )


def free_section(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the section on free observations."""
    yield "## Free observations\n"
    yield "What `hinted` gains when targets of one step see each other's layers (layers/targets per step/k/rounds).\n"
    yield _table(rows.sort_values(["arms", "horizon"], kind="stable"), "environment", "case")


SECTIONS: dict[str, Callable[[pd.DataFrame], Iterator[str]]] = {
    "main": main_section, "held-out": held_out_section, "theorem": theorem_section, "free": free_section
}  # fmt: skip


def judge(cells: pd.DataFrame) -> str:
    """Say how many numbers are as expected, and which policy is best where."""
    text = ""
    known: Any = cells.dropna(subset="expected")
    if len(known):
        apart = (known["relative"] - known["expected"]).abs()
        good, far = (apart <= CLOSE + 2 * known["error"]).sum(), known.loc[apart.idxmax()]
        text = (
            f"{good} of {len(known)} numbers lie within {number(CLOSE, 2)} of the expected one, plus two standard "
            f"errors; the farthest is {far['policy']} in {far['environment']} at {far['size']}: "
            f"{number(far['relative'])} instead of {number(far['expected'])}. "
        )
    means = by_policy(means_of(cells), "size")
    won = means.idxmin(axis=1).value_counts(sort=False)
    return text + "Lowest mean: " + ", ".join(f"{name} at {n} of {len(means)} sizes" for name, n in won.items()) + "."


def _by_size_and_environment(cells: pd.DataFrame) -> Iterator[str]:
    yield _table(means_of(cells), "size", "size")
    for size, some in detailed(cells).groupby("size", sort=False):
        yield _table(some, "environment", str(size))


def _table(cells: pd.DataFrame, lines: str, head: str) -> str:
    """Return relative regrets, and the expected ones in brackets, with a column per policy."""
    numbers = zip(cells["relative"], cells["expected"].astype(float), strict=True)
    shown = [number(found) + (f" ({number(wanted)})" if wanted == wanted else "") for found, wanted in numbers]
    table = by_policy(cells.assign(shown=shown), lines, "shown")
    return markdown_table([head, *table.columns], table.itertuples(name=None))


def _theorem_table(rows: pd.DataFrame) -> str:
    """Return both sides of the theorem, and expected numbers in brackets."""
    expected = expected_numbers()["theorem"]
    heads = [
        "game", "regret", "printed bound", "fails in", "estimated regret", "bound of the estimates", "fails in"
    ]  # fmt: skip
    lines = []
    for row in rows.to_dict("records"):
        beside = expected.get(row["game"])
        regret, bound = (f" ({beside[name]:g})" if beside else "" for name in ("regret", "bound"))
        lines.append([
            row["game"], f"{row['regret']:.1f}{regret}", f"{row['printed_bound']:.1f}{bound}",
            f"{row['printed_fails']:.0%}", f"{row['estimated_regret']:.1f}", f"{row['estimated_bound']:.1f}",
            f"{row['estimated_fails']:.0%}",
        ])  # fmt: skip
    return markdown_table(heads, lines)
