"""Small files that grow when they are read, and sniffers that would take for ever, are refused in bounded time."""

import gzip
import resource
import subprocess
import sys
import time
import warnings
import zipfile
from contextlib import suppress

import networkx as nx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import banditplex as bx
from banditplex.datasets.base import Dataset, File
from banditplex.datasets.loading import _Download
from banditplex.io import base, detect
from banditplex.io.base import FLOOR
from banditplex.io.tables.nodes import read_pairs, with_node_table
from tests.refusals import refuses


def bomb(path, megabytes):
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"source,target\n")
        for _ in range(megabytes):
            file.write((b"a," + b"b" * 4093 + b"\n") * (1 << 8))
    return path


def test_a_small_gzip_file_that_grows_is_refused(tmp_path):
    path = bomb(tmp_path / "net.csv.gz", 80)
    assert path.stat().st_size < 500_000
    with refuses(path, f"{FLOOR:,}", "max_size="):
        bx.read(path)
    with pytest.warns(UserWarning, match="rows merged"):
        assert bx.read(path, max_size=1 << 27, bipartite=False).num_edges == 1
    with refuses(path, "1,000"):
        bx.read(path, max_size=1000)
    with refuses("max_size", "'2G'"):
        bx.read(path, max_size="2G")


def test_a_file_may_grow_up_to_its_limit(tmp_path):
    text = b"source,target\na,b\n"
    (tmp_path / "net.csv.gz").write_bytes(gzip.compress(text))
    assert bx.read(tmp_path / "net.csv.gz", max_size=len(text)).num_edges == 1
    with refuses(f"{len(text) - 1:,}"):
        bx.read(tmp_path / "net.csv.gz", max_size=len(text) - 1)


@pytest.mark.slow
def test_it_is_refused_before_memory_is_used(tmp_path):
    path = bomb(tmp_path / "net.csv.gz", 600)
    code = (
        f"import banditplex as bx\ntry:\n    bx.read({str(path)!r})\n"
        "except bx.InputError as error:\n    print('max_size=' in str(error))"
    )
    limit = 3 << 30  # of addresses; the file has 600 MiB of text, which take more than that as a table
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr


def test_a_workbook_that_grows_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "net.xlsx"
    pd.DataFrame({"source": [1], "target": [2]}).to_excel(path, index=False)
    assert bx.read(path).num_edges == 1
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/more.xml", b" " * (FLOOR + 1))
    with refuses(path, f"{FLOOR:,}", "max_size="):
        bx.read(path)
    assert bx.read(path, max_size=1 << 28).num_edges == 1


@pytest.mark.parametrize("cells", [["XFD9000"], [f"XFD{row}" for row in range(3, 1500)]])
def test_a_sheet_of_far_cells_is_refused(tmp_path, cells):
    """A few kB of cells, with empty ones between them that would take gigabytes."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for place, value in {"A1": "source", "B1": "target", "A2": 1, "B2": 2}.items():
        book.active[place] = value
    book.save(tmp_path / "near.xlsx")
    assert bx.read(tmp_path / "near.xlsx").num_edges == 1
    for place in cells:
        book.active[place] = 1
    book.save(tmp_path / "far.xlsx")
    begin = time.process_time()
    with refuses(tmp_path / "far.xlsx", "empty"):
        bx.read(tmp_path / "far.xlsx")
    assert time.process_time() - begin < 20


def test_an_archive_that_grows_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.txt", b"0" * (FLOOR + 1))
    file = File("x/big.txt", "sha256:0")
    dataset = Dataset("x", "x", lambda: None, archive="https://example.org/a.zip")
    job = _Download(dataset, tmp_path, tmp_path, (file,), None)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive, refuses("big.txt", f"{FLOOR:,}", f"{FLOOR + 1:,}"):
        job.extract(archive, file)
    assert not (tmp_path / "big.txt").exists()


def test_large_graph_files_are_refused(tmp_path):
    name = "net.graphml"
    nx.write_graphml(nx.path_graph(2), tmp_path / name)
    size = (tmp_path / name).stat().st_size
    with refuses(tmp_path / name, f"{size - 1:,}", f"{size:,}", "max_size="):
        bx.read(tmp_path / name, max_size=size - 1)
    assert bx.read(tmp_path / name, max_size=size).num_edges == 1


@pytest.mark.parametrize(
    "unit", [b"\n", b" ", b"\t\n", b"graph ", b"graph\n", b"<a", b"a:", b"#", b"#EDGES ", b";", b'"']
)
def test_sniffers_take_linear_time(tmp_path, unit):
    path = tmp_path / "net"
    path.write_bytes(unit * ((1 << 20) // len(unit)))
    begin = time.process_time()
    with suppress(bx.InputError):
        detect(path)
    assert time.process_time() - begin < 3  # 14 s were the measure for 64 KiB of line ends


# Every table has the limits: nodes, pairs and edges, however they are packed


def packed(folder, kind, header, line, rows):
    """Write a table of many equal lines that takes few bytes."""
    path = folder / f"big.{kind}"
    if kind == "parquet":
        columns = {name: pa.array([cell] * rows) for name, cell in zip(header.split(","), line.split(","), strict=True)}
        pq.write_table(pa.table(columns), path, compression="zstd")
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(f"{header}\n".encode() + f"{line}\n".encode() * rows))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("big.csv", f"{header}\n" + f"{line}\n" * rows)
    return path


@pytest.mark.parametrize(
    ("floor", "rows"), [(1 << 20, 110_000), pytest.param(FLOOR, 7_000_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "csv.zip"])
def test_tables_of_nodes_and_pairs_are_bounded(tmp_path, kind, floor, rows, monkeypatch):
    """Seven million lines of ten bytes are more than 64 MiB; so are two columns of eight bytes. The same in small."""
    monkeypatch.setattr(base, "FLOOR", floor)
    mx = bx.Multiplex.from_edges(["a"], ["b"], "x")
    nodes = packed(tmp_path, kind, "id,type", "aaaa,bbbb", rows)
    assert nodes.stat().st_size < 1 << 20
    values = ["big.csv.zip"] if kind == "csv.zip" else [f"{floor:,}", "max_size="]
    with refuses(nodes, *values):
        with_node_table(mx, nodes)
    pairs = packed(tmp_path, kind, "source,target", "aaaa,bbbb", rows)
    with refuses(pairs, *values):
        read_pairs(pairs, mx)
    if kind != "csv.zip":
        with refuses(pairs, *values):
            bx.read(pairs)


@pytest.mark.slow
def test_a_long_string_that_is_repeated_takes_memory_once(tmp_path):
    """A thousand rows of one text of 4 MiB would be 4 GiB; the file, and what is read, has it once."""
    text = "x" * (1 << 22)
    pq.write_table(pa.table({"source": pa.array([text] * 1000), "target": ["b"] * 1000}), tmp_path / "net.parquet")
    with warnings.catch_warnings(action="ignore"):
        assert bx.read(tmp_path / "net.parquet").num_edges == 1
        table = pq.read_table(tmp_path / "net.parquet").slice(0, 1)
    assert len(table["source"][0].as_py()) == len(text)


@pytest.mark.parametrize("encoding", ["utf-16", "idna", "punycode", "undefined", "base64", "nothing"])
def test_encodings_are_refused_in_one_line(tmp_path, encoding):
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    with refuses("utf-16" if encoding == "utf-16" else repr(encoding)):
        bx.read(tmp_path / "net.csv", encoding=encoding)


def test_numbers_beyond_all_bounds(tmp_path):
    (tmp_path / "net.csv").write_text("source,target\n0,1\n")
    with refuses("num_nodes", f"{10**18:,}"):
        bx.read(tmp_path / "net.csv", num_nodes=10**18)
    with refuses("num_nodes", f"{10**18:,}"):
        bx.Multiplex.from_edges([0], [1], "a", num_nodes=10**18)
    for frame, column in (
        ({"source": [2**64], "target": [1]}, "source"),
        ({"source": [0], "target": [1], "weight": [10**400]}, "weight"),
        ({"source": [0], "target": [1], "time": [10**400]}, "time"),
    ):
        with refuses(column, "64 bits"):
            bx.Multiplex.from_pandas(pd.DataFrame(frame))
    with refuses("weight", "0", "1"):
        bx.Multiplex.from_networkx(nx.Graph([(0, 1, {"weight": 10**400})]))
