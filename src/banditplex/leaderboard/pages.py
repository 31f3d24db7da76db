"""The leaderboard in files: CSV for machines, Markdown, and plain data for the report page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from banditplex.leaderboard.board import Leaderboard
from banditplex.leaderboard.lines import HEADS, METRICS, Line, Table, difference_table, main_table, shown_columns
from banditplex.markdown import markdown_table
from banditplex.multiplex import Name
from banditplex.storage.files import replace_file
from banditplex.storage.rows import Row

CSV, LAYERS, SEEDS, MARKDOWN = "leaderboard.csv", "layers.csv", "seeds.csv", "leaderboard.md"


def write(board: Leaderboard, folder: Path) -> list[Path]:
    """Write all files into a folder, and return their paths."""
    texts = {
        CSV: line_frame(board.lines).to_csv(index=False),
        LAYERS: layer_frame(board.layers).to_csv(index=False),
        SEEDS: seed_frame(board.tests).to_csv(index=False),
        MARKDOWN: "\n".join(_markdown(board)),
    }
    for name, text in texts.items():
        replace_file(folder / name, text.encode())
    return [folder / name for name in texts]


def line_frame(lines: Sequence[Line]) -> pd.DataFrame:
    """Return a table with a row per method and all numbers."""
    rows = []
    for line in lines:
        row: dict[str, Any] = {"method": line.method, "ours": line.ours, "seeds": line.seeds, "note": line.note}
        for name in METRICS:
            row |= {name: line.mean.get(name), f"{name}_deviation": line.deviation.get(name)}
            found = line.difference.get(name)
            row |= {f"{name}_difference": found and found.mean, f"{name}_error": found and found.error}
            row |= {f"{name}_p": found and found.p, f"{name}_p_wilcoxon": found and found.p_wilcoxon}
        row |= {"fit_seconds": line.seconds, "memory_bytes": line.memory, "parameters": line.parameters}
        rows.append(row | {"settings": line.chosen})
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


def layer_frame(layers: Mapping[Name, Sequence[Line]]) -> pd.DataFrame:
    """Return a table with a row per layer and method."""
    return pd.DataFrame([
        {"layer": layer, "method": line.method, "seeds": line.seeds, "test_edges": line.test_edges}
        | line.mean
        | {f"{name}_deviation": value for name, value in line.deviation.items()}
        for layer, lines in layers.items()
        for line in lines
    ])  # fmt: skip


def seed_frame(tests: Sequence[Row]) -> pd.DataFrame:
    """Return a table with a row per method and seed."""
    told = (*METRICS, "fit_seconds", "score_seconds", "memory", "parameters", "settings")
    rows = [{"method": row["method"], "seed": row["trial"]} | {name: row.get(name) for name in told} for row in tests]
    return pd.DataFrame(rows, columns=["method", "seed", *told]).sort_values(["method", "seed"])


def _markdown(board: Leaderboard) -> Iterator[str]:
    yield f"# Leaderboard: {board.name}\n"
    yield f"{board.facts.title}. {' '.join(board.facts.sentences)}\n"
    if board.facts.warning:
        yield f"**Warning.** {board.facts.warning}\n"
    yield f"{' '.join(board.conditions)}\n"
    if board.verdict:
        yield f"**{board.verdict}**\n"
    yield _markdown_table(main_table(board.lines))
    yield f"Ours: →. The best of a column is in bold. {' '.join(board.legend)}\n"
    differences = difference_table(board.lines)
    if differences is not None:
        yield "## Differences\n"
        yield _markdown_table(differences)


def _markdown_table(table: Table) -> str:
    rows = []
    for line, cells in table.rows:
        first, *others = (f"**{text}**" if best else text.replace("|", "\\|") for text, best in cells)
        rows.append([f"→ {first}" if line.ours else first, *others])
    return markdown_table(table.heads, rows)


def as_json(board: Leaderboard) -> dict[str, Any]:
    """Return everything as plain values; None where there is no number."""
    frames: list[Any] = [each.astype(object) for each in (line_frame(board.lines), layer_frame(board.layers))]
    lines, layers = (frame.where(frame.notna(), None).to_dict("records") for frame in frames)
    facts = {"title": board.facts.title, "layers_per_pair": board.facts.layers_per_pair}
    facts |= {"linked_pairs": board.facts.linked_pairs, "in_several_layers": board.facts.several}
    facts |= {"density": list(board.facts.density), "untrained_roc_auc": board.facts.untrained}
    return {
        "data": board.name, "facts": facts, "warning": board.facts.warning, "conditions": board.conditions,
        "verdict": board.verdict, "methods": lines, "layers": layers,
    }  # fmt: skip


def for_page(board: Leaderboard) -> dict[str, Any]:
    """Return what the report page shows: everything, the columns of its table, and the means of each layer."""
    numbers = [name for name in shown_columns(board.lines) if any(name in line.mean for line in board.lines)]
    references = {each.to for line in board.lines for each in line.difference.values()}
    return as_json(board) | {
        "columns": [{"name": name, "title": HEADS[name]} for name in numbers],
        "legend": board.legend,
        "facts_text": board.facts.sentences,
        "reference": next(iter(references), None),
        "seeds": board.plan.seeds,
        "seeds_text": f"0 to {board.plan.seeds - 1}",
        "layers": [],
        "by_layer": _layer_values(board, numbers),
    }


def _layer_values(board: Leaderboard, metrics: Sequence[str]) -> dict[str, Any] | None:
    """Return the means of each metric, layer and method: values (metrics, layers, methods), NaN where there is none."""
    if not board.layers:
        return None
    every = [line for lines in board.layers.values() for line in lines]
    methods = list(dict.fromkeys(line.method for line in every))
    shown = [name for name in metrics if any(name in line.mean for line in every)]
    values = np.full((len(shown), len(board.layers), len(methods)), np.nan)
    for place, lines in enumerate(board.layers.values()):
        for line in lines:
            values[:, place, methods.index(line.method)] = [line.mean.get(name, np.nan) for name in shown]
    return {"layers": [str(name) for name in board.layers], "methods": methods, "metrics": shown, "values": values}
