"""What is killed, and what must hold after each kill, before the command is given again."""

import hashlib
import json
import os
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np

import banditplex as bx
from banditplex.errors import FormatError
from banditplex.leaderboard import Plan
from banditplex.leaderboard import compare as compare_methods
from banditplex.persistence.run_folder import RunFolder
from banditplex.storage.rows import read_results


class Scenario(NamedTuple):
    """A command, the folder that it finds, what must hold if it is cut off, and the command that goes on."""

    name: str
    command: list[str]
    again: list[str]
    prepare: Callable[[Path], None]
    check: Callable[[Path], None]
    place: str  # what is written: a file or folder
    faults: tuple[str, ...] = ("kill", "full disk", "read-only", "removed", "replaced")


def graph(seed: int = 0) -> bx.Multiplex:
    """Return 20 nodes, the last without edges, and two directed layers of about 25 pairs at random."""
    source, destination = np.random.default_rng(seed).integers(0, 19, (2, 50))
    layers = np.repeat([f"{name}{seed}" for name in "ab"], 25)
    return bx.Multiplex.from_edges(source, destination, layers, num_nodes=20, directed=True, self_loops="drop")


NEW, OLD = graph(0), graph(1)
FAST = ["--epochs", "2", "--width", "0", "--target", "a0", "--quiet"]
PLAN = Plan(hide="layer", seeds=1, trials=1)
EVALUATE = ["--hide", "layer", "--trials", "1", "--folds", "2", "--engine", "serial", "--policy", "none"]
EVALUATE += ["--epochs", "1", "--target", "a0", "--quiet"]


def _data(folder: Path) -> None:
    bx.write(NEW, folder / "data.csv")


def _check_run(folder: Path) -> None:
    """Require that the checkpoint, if there is one, is whole, and that the model, if there is one, predicts."""
    run = RunFolder(folder / "run")
    if run.begun:
        assert 0 <= run.progress().epoch <= 2
    if run.finished:
        model = bx.LinkPredictor.load(folder / "run")
        assert np.isfinite(model.score_pairs([[0, 1]], model.k_.index[0])).all()


def _check_rows(folder: Path) -> None:
    """Require that all lines but the last are whole: what was finished can be read."""
    path = folder / "rows.jsonl"
    if path.exists() and path.read_bytes().count(b"\n"):
        _, rows = read_results(path)
        assert all(json.dumps(row) for row in rows)


COMPARE = ["compare", "data.csv", "--methods", "jaccard", "--seeds", "1", "--trials", "1", "--engine", "serial"]
COMPARE += ["--quiet", "-o", "board"]
TABLES = ("leaderboard.csv", "layers.csv", "seeds.csv", "leaderboard.md")
PAGES = {**dict.fromkeys(TABLES, "jaccard"), "report.html": "</html>"}
"""Files of a comparison, and what is in each if it is whole."""


def _check_board(folder: Path) -> None:
    """Require that finished fits can be read, and that each page is whole, the old one or the new one."""
    rows = folder / "board" / "rows.jsonl"
    if rows.exists() and rows.read_bytes().count(b"\n"):
        read_results(rows)
    for name, part in PAGES.items():
        if (folder / "board" / name).exists():
            text = (folder / "board" / name).read_text()
            whole = part in text and text.endswith(("\n", "</html>"))
            assert text == "old\n" or whole, f"{name}: {text[-40:]!r}"


def compare() -> Scenario:
    """Return a comparison in a new folder; its fit takes seconds, so that only kills are tried at every step."""
    return Scenario("compare", COMPARE, [*COMPARE, "--resume"], _data, _check_board, "board", ("kill",))


def rewrite() -> Scenario:
    """Return a comparison whose fits are finished: its pages are written again, over old ones."""

    def prepare(folder: Path) -> None:
        _data(folder)
        rows = compare_methods(bx.read(folder / "data.csv"), ["jaccard"], plan=PLAN, folder=folder / "board")
        assert rows, "no rows"
        for name in PAGES:
            (folder / "board" / name).write_text("old\n")

    command = [*COMPARE, "--resume"]
    faults = ("kill", "full disk", "read-only")
    return Scenario("compare --resume", command, command, prepare, _check_board, "board", faults)


def report() -> Scenario:
    """Return the page of a run, in place of an earlier one."""
    command = ["report", "model", "-o", "page.html", "--force", "--quiet"]

    def prepare(folder: Path) -> None:
        bx.LinkPredictor(epochs=1, width=0).fit(NEW, ["a0"]).save(folder / "model")
        (folder / "page.html").write_text("old\n")

    def check(folder: Path) -> None:
        text = (folder / "page.html").read_text()
        assert text == "old\n" or text.rstrip().endswith("</html>"), text[-40:]

    return Scenario("report", command, command, prepare, check, "page.html")


def train() -> Scenario:
    """Return the training of a model in a new folder."""
    command = ["train", "data.csv", "-o", "run", *FAST]
    return Scenario("train", command, [*command, "--resume"], _data, _check_run, "run")


def retrain() -> Scenario:
    """Return a training that replaces an earlier run."""
    command = ["train", "data.csv", "-o", "run", *FAST, "--force"]

    def prepare(folder: Path) -> None:
        _data(folder)
        model = bx.LinkPredictor(epochs=1, width=0)
        model.fit(NEW, ["b0"], checkpoint=folder / "run")
        model.save(folder / "run")

    return Scenario("train --force", command, command, prepare, _check_run, "run")


def evaluate() -> Scenario:
    """Return a cross validation that keeps its rows in a file."""
    command = ["evaluate", "data.csv", *EVALUATE, "-o", "rows.jsonl"]
    return Scenario("evaluate", command, [*command, "--resume"], _data, _check_rows, "rows.jsonl")


FORMATS = {
    "csv": "out.csv", "tsv": "out.tsv", "parquet": "out.parquet", "banditplex": "out.bx",
}  # fmt: skip
"""The format, and the name of a file or folder in it."""
SEVERAL = {"csv", "tsv"}
"""Formats with side notes."""


def convert(format: str, *, force: bool = True) -> Scenario:
    """Return a conversion; with `force`, over another graph in the same place."""
    name = FORMATS[format]
    command = ["convert", "data.csv", name, "--to", format, *(["--force"] if force else [])]

    def prepare(folder: Path) -> None:
        _data(folder)
        if force:
            bx.write(OLD, folder / name, format=format)

    def check(folder: Path) -> None:
        try:
            found = bx.read(folder / name, format=format)
        except FormatError as error:
            assert format in SEVERAL, error
            assert "mixed" in str(error), error
            return
        except bx.InputError as error:
            assert not force, error
            assert "no such file" in str(error), error
            return
        assert found == NEW or (force and found == OLD), "another graph"

    title = f"convert {format}{' --force' * force}"
    faults = ("kill", "full disk", "read-only") if force else ("kill",)
    return Scenario(title, command, [*command, "--force"], prepare, check, name, faults)


def predict() -> Scenario:
    """Return predictions that replace an earlier table."""
    command = ["predict", "model", "--layer", "a0", "--top", "3", "--prior", "0.1", "-o", "top.csv", "--force"]

    def prepare(folder: Path) -> None:
        bx.LinkPredictor(epochs=1, width=0).fit(NEW, ["a0"]).save(folder / "model")
        (folder / "top.csv").write_text("old\n")

    def check(folder: Path) -> None:
        text = (folder / "top.csv").read_text()
        assert text == "old\n" or text.count("\n") == 4, text

    return Scenario("predict", command, command, prepare, check, "top.csv", ("kill", "full disk", "read-only"))


class _Page(BaseHTTPRequestHandler):
    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, format: str, *values: object) -> None:
        pass


def fetch() -> Scenario:
    """Return the download of a data set of two files from a server in this process."""
    from banditplex.datasets import Dataset, File, list_datasets
    from banditplex.datasets.loading import register

    contents = {"faults/edges.txt": b"1 1 2 1\n2 2 3 1\n", "faults/layers.txt": b"layerID layerLabel\n1 a\n2 b\n"}
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    command = ["datasets", "fetch", "faults"]

    def prepare(folder: Path) -> None:
        packed = BytesIO()
        with ZipFile(packed, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        _Page.content = packed.getvalue()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
        Thread(target=server.serve_forever, daemon=True).start()
        os.environ |= {"BANDITPLEX_DATA": "data", "NO_PROXY": "127.0.0.1"}
        files = tuple(File(name, f"sha256:{checksum}") for name, checksum in checksums.items())
        address = f"http://127.0.0.1:{server.server_port}/faults.zip"
        if "faults" not in list_datasets():
            register(Dataset("faults", "Two files", lambda: NEW, files=files, archive=address))

    def check(folder: Path) -> None:
        for path in (folder / "data" / name for name in contents):
            if path.exists():
                found = hashlib.sha256(path.read_bytes()).hexdigest()
                assert found == checksums[str(path.relative_to(folder / "data"))]

    return Scenario("datasets fetch", command, command, prepare, check, "data", ("kill", "full disk", "read-only"))


def everything() -> list[Scenario]:
    """Return all scenarios."""
    conversions = [convert(format, force=force) for format in FORMATS for force in (True, False)]
    return [train(), retrain(), evaluate(), predict(), report(), fetch(), compare(), rewrite(), *conversions]
