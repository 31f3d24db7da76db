"""Inputs of unusual size or kind, given to `train`, `predict` and `report` in a terminal: how long, how much memory.

Each command is a process of its own with a pseudo-terminal. It may end with status 0, or with 2 and one line.
"""

import errno
import os
import pty
import resource
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

Rows = list[tuple[object, ...]]
HEADER = ("source", "target", "layer", "weight")


class Case(NamedTuple):
    """An input: `make` writes it into a folder; DATA and what follows it are given to `train`."""

    name: str
    make: Callable[[Path], None]
    train: list[str]
    status: int = 0
    """With which `train` must end; after 0, `predict` and `report` must, too."""
    seconds: float = 60
    megabytes: int = 1500


class Ended(NamedTuple):
    """How a command ended: status, what it printed, seconds of processor time, and its peak of memory in MB."""

    status: int
    said: str
    seconds: float
    megabytes: int


def give(folder: Path, *words: str, limit: int = 600) -> Ended:
    """Give a command in a pseudo-terminal."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.execv(sys.executable, [sys.executable, "-m", "banditplex", *words])
    said = bytearray()
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError as error:  # what Linux says at the end of a terminal
            assert error.errno == errno.EIO
            break
        if not part:
            break
        said += part
    os.close(terminal)
    _, status, used = os.wait4(child, 0)
    return Ended(
        os.waitstatus_to_exitcode(status),
        said.decode(errors="replace"),
        used.ru_utime + used.ru_stime,
        used.ru_maxrss // 1024,
    )


def random_rows(layers: int, edges: int, nodes: int) -> Rows:
    """Return edges of layers at random, with the layers' names and weights."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, nodes, (layers * edges, 2))
    ends[:, 1] = np.where(ends[:, 0] == ends[:, 1], (ends[:, 1] + 1) % nodes, ends[:, 1])
    names = np.repeat([f"l{place}" for place in range(layers)], edges)
    return [(int(u), int(v), str(name), 1.5) for (u, v), name in zip(ends, names, strict=True)]


def _csv(*sizes: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        pd.DataFrame(random_rows(*sizes), columns=list(HEADER)).to_csv(folder / "net.csv", index=False)

    return make


def _isolated(folder: Path) -> None:
    _csv(3, 200, 100)(folder)
    (folder / "nodes.csv").write_text("id\n" + "\n".join(map(str, range(1_000_100))) + "\n")


# Excel


def _book(folder: Path, rows: Rows, edit: Callable[[zipfile.ZipFile], None] | None = None) -> None:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook(write_only=True)
    sheet = book.create_sheet("edges")
    sheet.append(HEADER)
    for row in rows:
        sheet.append(row)
    book.save(folder / "net.xlsx")
    if edit:
        with zipfile.ZipFile(folder / "net.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
            edit(archive)


def _rewritten(folder: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    """Change one part of a workbook."""
    _book(folder, random_rows(2, 30, 20))
    path, parts = folder / "net.xlsx", dict[str, bytes]()
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = b'<!DOCTYPE a [<!ENTITY a0 "ha">%s]>' % b"".join(
    b'<!ENTITY a%d "%s">' % (depth, b"&a%d;" % (depth - 1) * 10) for depth in range(1, 10)
)
OUTSIDE = b'<!DOCTYPE a [<!ENTITY a9 SYSTEM "file:///etc/hostname">]>'
EXTERNAL = (
    '<?xml version="1.0"?><externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    '<externalBook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="rId1"/>'
    "</externalLink>"
)
RELATION = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    'externalLinkPath" Target="{}" TargetMode="External"/></Relationships>'
)


def _entities(declared: bytes) -> Callable[[Path], None]:
    def change(sheet: bytes) -> bytes:
        head, _, rest = sheet.partition(b"<worksheet")
        return head + declared + b"<worksheet" + rest.replace(b"source", b"&a9;", 1)

    return lambda folder: _rewritten(folder, SHEET, change)


def _linked(folder: Path) -> None:
    """Make a workbook with links to others, by address and by path, and formulas that look there."""

    def edit(archive: zipfile.ZipFile) -> None:
        for number, place in enumerate(("http://127.0.0.1:9/x.xlsx", "file:///etc/passwd", "../../precious.xlsx"), 1):
            archive.writestr(f"xl/externalLinks/externalLink{number}.xml", EXTERNAL)
            archive.writestr(f"xl/externalLinks/_rels/externalLink{number}.xml.rels", RELATION.format(place))

    _book(folder, random_rows(2, 30, 20), edit)


def _formulas(folder: Path) -> None:
    """Make ids and weights that are formulas, with no results, as scripts write them."""
    _book(folder, [(f"=A{at}+1", v, name, "=1+1") for at, (_, v, name, _) in enumerate(random_rows(2, 30, 20), 1)])


def _formulas_of_weights(folder: Path) -> None:
    _book(folder, [(u, v, name, "=1+1") for u, v, name, _ in random_rows(2, 30, 20)])


def _hostile_names(folder: Path) -> None:
    rows = random_rows(2, 60, 20)
    _book(folder, [(f"'=cmd|'/c calc'!A{u}", f"@SUM({v})", name, 1) for u, v, name, _ in rows])


def _bomb(folder: Path) -> None:
    _rewritten(folder, SHEET, lambda sheet: sheet.replace(b"<sheetData>", b"<sheetData>" + b" " * (1 << 30), 1))


def _many_parts(folder: Path) -> None:
    def edit(archive: zipfile.ZipFile) -> None:
        for number in range(3000):
            archive.writestr(f"xl/worksheets/more{number}.xml", b" " * (1 << 16))

    _book(folder, random_rows(2, 30, 20), edit)


def _far_cell(folder: Path) -> None:
    """Say that the sheet ends at its last possible cell, and have one there."""

    def change(sheet: bytes) -> bytes:
        cell = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
        return sheet.replace(b"</sheetData>", cell, 1)

    _rewritten(folder, SHEET, change)


QUICK = ["--quick", "--epochs", "2"]
TARGETS = [word for layer in range(3) for word in ("--target", f"l{layer}")]
CASES = [
    Case("2,000 layers of 3 edges", _csv(2_000, 3, 1_000), ["net.csv", *QUICK], seconds=600),
    Case("10,000 layers of 30 edges, 3 targets", _csv(10_000, 30, 2_000),
         ["net.csv", *TARGETS, *QUICK], seconds=300, megabytes=4000),
    Case("10^6 nodes without edges", _isolated, ["net.csv", "--nodes", "nodes.csv", *QUICK], seconds=200),
    Case("Excel, 10^6 rows", lambda folder: _book(folder, random_rows(4, 250_000, 200_000)),
         ["net.xlsx", *QUICK], seconds=600, megabytes=6000),
    Case("Excel, formulas as ids", _formulas, ["net.xlsx", *QUICK], 2),
    Case("Excel, formulas as weights", _formulas_of_weights, ["net.xlsx", *QUICK], 2),
    Case("Excel, formulas as names", _hostile_names, ["net.xlsx", *QUICK]),
    Case("Excel, links to other workbooks", _linked, ["net.xlsx", *QUICK]),
    Case("Excel, a sheet of 1 GiB in 1 MB", _bomb, ["net.xlsx", *QUICK], 2),
    Case("Excel, 3,000 parts of 64 KiB", _many_parts, ["net.xlsx", *QUICK], 2),
    Case("Excel, 10^9 laughs", _entities(LAUGHS), ["net.xlsx", *QUICK], 2),
    Case("Excel, an entity of another file", _entities(OUTSIDE), ["net.xlsx", *QUICK], 2),
    Case("Excel, a cell in the last corner", _far_cell, ["net.xlsx", *QUICK], 2),
]  # fmt: skip


def tried(case: Case, folder: Path) -> Iterator[tuple[str, Ended, str]]:
    """Yield each command that is given with an input, how it ended, and what did not hold (empty: nothing)."""
    case.make(folder)
    steps = [["train", *case.train, "-o", "run"]]
    if case.status == 0:
        steps += [["predict", "run", "--layer", "l0", "--top", "3"], ["report", "run", "-o", "page.html"]]
    for words in steps:
        ended = give(folder, *words)
        wanted = case.status if words[0] == "train" else 0
        wrong = [f"status {ended.status}, not {wanted}"] * (ended.status != wanted)
        wrong += ["a traceback"] * ("Traceback" in ended.said)
        wrong += ["not one line"] * (ended.status == 2 and ended.said.count("banditplex: ") != 1)
        wrong += [f"more than {case.seconds:.0f} s"] * (ended.seconds > case.seconds)
        wrong += [f"more than {case.megabytes} MB"] * (ended.megabytes > case.megabytes)
        yield " ".join(words[:1]), ended, "; ".join(wrong)
        if ended.status:
            return


def size(case: Case, folder: Path) -> tuple[str, list[str]]:
    """Try an input; return what each command took, and what did not hold."""
    took, found = [], []
    for command, ended, wrong in tried(case, folder):
        took.append(f"{command} {ended.status}, {ended.seconds:.0f} s, {ended.megabytes} MB")
        if wrong:
            found.append(f"{case.name}, {command}: {wrong}: {' '.join(ended.said.split())[-300:]}")
    return "; ".join(took), found
