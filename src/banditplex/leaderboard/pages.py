"""The leaderboard in files: CSV for machines, Markdown, and a page of HTML that needs nothing else."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.leaderboard.board import Leaderboard
from banditplex.leaderboard.lines import METRICS, Line
from banditplex.leaderboard.tables import Table, difference_table, layer_table, main_table
from banditplex.markdown import markdown_table
from banditplex.multiplex import Name
from banditplex.persistence.tree import replace_file

CSV, LAYERS, MARKDOWN, PAGE = "leaderboard.csv", "layers.csv", "leaderboard.md", "index.html"


def write(board: Leaderboard, folder: Path, *, by_layer: bool = False) -> list[Path]:
    """Write all files into a folder, and return their paths."""
    texts = {
        CSV: line_frame(board.lines).to_csv(index=False),
        LAYERS: layer_frame(board.layers).to_csv(index=False),
        MARKDOWN: "\n".join(_markdown(board, by_layer)),
        PAGE: _html(board, by_layer),
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
            row |= {f"{name}_difference": found and found.mean, f"{name}_p": found and found.p}
            row |= {f"{name}_p_wilcoxon": found and found.p_wilcoxon}
        row |= {"fit_seconds": line.seconds, "memory_bytes": line.memory, "parameters": line.parameters}
        rows.append(row | {"settings": line.chosen})
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


def layer_frame(layers: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a table with a row per layer and method."""
    rows = []
    for line in layers:
        numbers = {f"{name}_deviation": value for name, value in line["deviation"].items()}
        rows.append({**{n: v for n, v in line.items() if n not in ("mean", "deviation")}, **line["mean"], **numbers})
    return pd.DataFrame(rows)


def layer_tables(board: Leaderboard) -> Iterator[tuple[Name, Table]]:
    """Yield the table of each layer."""
    ours = [line.method for line in board.lines if line.ours]
    for name in dict.fromkeys(line["layer"] for line in board.layers):
        yield name, layer_table([line for line in board.layers if line["layer"] == name], ours)


def _sections(board: Leaderboard, by_layer: bool) -> Iterator[tuple[str, Table]]:
    """Yield the tables after the main one, with their titles."""
    differences = difference_table(board.lines)
    if differences is not None:
        yield "Differences", differences
    for name, table in layer_tables(board) if by_layer else ():
        yield f"Layer {name}", table


def _markdown(board: Leaderboard, by_layer: bool) -> Iterator[str]:
    yield f"# Leaderboard: {board.name}\n"
    yield f"{board.facts.title}. {' '.join(board.facts.sentences)}\n"
    if board.facts.warning:
        yield f"**Warning.** {board.facts.warning}\n"
    yield f"{' '.join(board.conditions)}\n"
    if board.verdict:
        yield f"**{board.verdict}**\n"
    yield _markdown_table(main_table(board.lines))
    yield f"Ours: →. The best of a column is in bold. {' '.join(board.legend)}\n"
    for title, table in _sections(board, by_layer):
        yield f"## {title}\n"
        yield _markdown_table(table)


def _markdown_table(table: Table) -> str:
    def show(row: Any) -> list[str]:
        first, *others = (f"**{cell.text}**" if cell.best else cell.text.replace("|", "\\|") for cell in row.cells)
        return [f"→ {first}" if row.ours else first, *others]

    return markdown_table(table.heads, [show(row) for row in table.rows])


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 1500px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e5e7eb; }
th:first-child, td:first-child, td.text { text-align: left; }
td.text { white-space: normal; color: #6b7280; min-width: 14rem; }
th { border-bottom: 2px solid #9ca3af; }
tr.ours { background: #eef6ff; } tr.ours td:first-child { color: #1d4ed8; font-weight: 600; }
tr.failed { color: #9ca3af; }
.verdict { font-size: 1.1rem; border-left: 4px solid #1d4ed8; padding-left: .8rem; }
.warning { background: #fef3c7; padding: .5rem .8rem; } .wide { overflow-x: auto; } .faint { color: #6b7280; }
"""
TEXTS = ("note", "chosen settings")
"""Heads of columns that hold words."""


def _html(board: Leaderboard, by_layer: bool) -> str:
    title = f"Leaderboard: {escape(board.name)}"
    parts = [f"<h1>{title}</h1>", f"<p>{escape(board.facts.title)}. {escape(' '.join(board.facts.sentences))}</p>"]
    if board.facts.warning:
        parts.append(f'<p class="warning">{escape(board.facts.warning)}</p>')
    parts.append(f"<p>{escape(' '.join(board.conditions))}</p>")
    if board.verdict:
        parts.append(f'<p class="verdict">{escape(board.verdict)}</p>')
    parts.append(_html_table(main_table(board.lines)))
    shaded = "Our learner and its variants are shaded; the best of a column is in bold. "
    parts.append(f'<p class="faint">{escape(shaded + " ".join(board.legend))}</p>')
    parts += [f"<h2>{escape(head)}</h2>{_html_table(table)}" for head, table in _sections(board, by_layer)]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "\n".join(parts)
    start = f'<!doctype html>\n<html lang="en">\n<head>{head}<style>{STYLE}</style></head>'
    return f"{start}\n<body>\n{body}\n</body>\n</html>\n"


def _html_table(table: Table) -> str:
    rows = []
    for row in table.rows:
        kind = " ".join(name for name, is_so in (("ours", row.ours), ("failed", row.failed)) if is_so)
        cells = []
        for head, cell in zip(table.heads, row.cells, strict=True):
            text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
            cells.append(f'<td class="text">{text}</td>' if head in TEXTS else f"<td>{text}</td>")
        rows.append(f'<tr class="{kind}">{"".join(cells)}</tr>' if kind else f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    return f'<div class="wide"><table>\n<tr>{heads}</tr>\n{chr(10).join(rows)}\n</table></div>'


def as_json(board: Leaderboard) -> dict[str, Any]:
    """Return everything as plain values; None where there is no number."""
    lines, layers = (_records(frame) for frame in (line_frame(board.lines), layer_frame(board.layers)))
    facts = {"title": board.facts.title, "layers_per_pair": board.facts.layers_per_pair}
    facts |= {"linked_pairs": board.facts.linked_pairs, "in_several_layers": board.facts.several}
    facts |= {"density": list(board.facts.density), "untrained_roc_auc": board.facts.untrained}
    return {
        "data": board.name, "facts": facts, "warning": board.facts.warning, "conditions": board.conditions,
        "verdict": board.verdict, "methods": lines, "layers": layers,
    }  # fmt: skip


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        return None if value is pd.NA or (isinstance(value, float) and math.isnan(value)) else value

    return [{str(name): plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
