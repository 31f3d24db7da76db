"""What is fuzzed: for each reader and loader, a valid file to start from and the call that reads it."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import banditplex as bx
from banditplex.io import formats
from banditplex.io.base import write_side_note
from banditplex.io.tables.nodes import read_pairs, with_node_table


@dataclass(frozen=True)
class Target:
    """A reader: `make(folder)` writes valid files, `read(folder)` reads them; `share` says how often it is chosen."""

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    share: int = 10


def _multiplex(holds: frozenset[str]) -> bx.Multiplex:
    parts: dict[str, Any] = {
        "weight": [0.5, 2, 1, 1], "time": [3, 4, 5, 6], "features": np.arange(4.0)[:, None],
        "types": ["user", "user", "item", "item"],
    }  # fmt: skip
    names = {"features": "node_features", "types": "node_types"}
    held = {names.get(part, part): value for part, value in parts.items() if part in holds}
    return bx.Multiplex.from_edges(
        ["ann", "bob", "ann", "dan"],
        ["bob", "cid", "cid", "ann"],
        ["work", "work", "home", "home"],
        directed=True,
        **held,
    )


def _format(name: str) -> Target:
    format = formats[name]
    ending = next(iter(format.suffixes), "")
    options: dict[str, Any] = {"missing": "drop"} if name in ("csv", "tsv", "parquet") else {}

    def make(folder: Path) -> None:
        bx.write(_multiplex(format.holds), folder / f"net{ending}", format=name)

    def read(folder: Path) -> Any:
        bx.read(folder / f"net{ending}", format=name)
        return bx.read(folder / f"net{ending}", format=name, **options)

    return Target(make, read)


def _sniffed() -> Target:
    def make(folder: Path) -> None:
        lines = ["From;To;Relation;Weight;When", "Zoë;Uli;work;0,5;2020-01-01", "Uli;7.0;home;2;2021-01-01"]
        (folder / "net.csv").write_bytes("\r\n".join(lines).encode("cp1252"))

    return Target(make, lambda folder: bx.read(folder / "net.csv", time="When"), 20)


def _tables() -> Target:
    def make(folder: Path) -> None:
        (folder / "net").mkdir()
        lines = ["from;to;weight;time", "Zoë;Uli;1.234,5;19.09.2020", " Uli;7.0;2;1.2.2021 9:05"]
        (folder / "net" / "mails.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
        (folder / "net" / "calls.tsv").write_text("Source\tTarget\ttime\nuli\t7\t04/25/2020 3:04 PM\n")

    def read(folder: Path) -> Any:
        bx.read(folder / "net", format="tables", missing="drop", fold_case=True)
        return bx.read(folder / "net", format="tables")

    return Target(make, read, 20)


MULTINET = "#EDGE ATTRIBUTES\nweight,NUMERIC\n#LAYERS\nwork,DIRECTED\n#ACTORS\nann\nbob\n#EDGES\nann,bob,work,0.5\n"
GRAPHML = (
    '<graphml><key id="t" for="edge" attr.name="layer" attr.type="string"/><graph edgedefault="directed">'
    '<node id="ann"/><node id="7.0"/><edge source="ann" target="7.0"><data key="t">work</data></edge></graph></graphml>'
)
COMUNE = {
    "net_multiplex.edges": "1 1 2 0.5\n2 1 3 1\n",
    "net_layers.txt": "layerID layerLabel\n1 work\n2 home\n",
    "net_nodes.txt": "nodeID nodeLabel\n1 ann\n2 bob b\n3 cid\n",
}


def _texts(files: dict[str, str]) -> Target:
    """Return the target of a format that is only read; the first of its files names it."""

    def make(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_text(text)

    return Target(make, lambda folder: bx.read(folder / next(iter(files))))


def _gatne() -> Target:
    def make(folder: Path) -> None:
        (folder / "net").mkdir()
        for name, text in {"train": "1 7 9\n2 9 100\n", "valid": "1 7 100 1\n1 9 42 0\n", "test": "2 7 9 1\n"}.items():
            (folder / "net" / f"{name}.txt").write_text(text)

    return Target(make, lambda folder: bx.read(folder / "net", format="gatne", part="all"))


def _edge_lists() -> Target:
    def make(folder: Path) -> None:
        (folder / "net").mkdir()
        for name, text in {"work": "Zoë 7.0 0.5\n7.0 Uli 2\n", "home": "Zoë Uli 1\n"}.items():
            (folder / "net" / f"{name}.edgelist").write_text(text)

    return Target(make, lambda folder: bx.read(folder / "net", format="edge-lists"))


def _wide() -> Target:
    def make(folder: Path) -> None:
        (folder / "net.csv").write_text("person_1,person_2,friend,work,note\nZoë,7.0,1,no,x\n7,Uli,0,2.5,\n")

    return Target(make, lambda folder: bx.read(folder / "net.csv", wide=True))


def _matrix() -> Target:
    def make(folder: Path) -> None:
        (folder / "net.csv").write_text(",ann,bob,cid\nann,0,2,\nbob,2,0,1.5\ncid,0,1,0\n")

    return Target(make, lambda folder: bx.read(folder / "net.csv", matrix=True))


def _noted() -> Target:
    def make(folder: Path) -> None:
        (folder / "net.csv").write_text("source,target,layer\nZoë,7.0,work\n7.0,Uli,home\n")
        write_side_note(folder / "net.csv", {"nodes": ["Zoë", "Uli", "7.0"], "layers": ["home", "work"]})

    return Target(make, lambda folder: bx.read(folder / "net.csv"))


def _compressed() -> Target:
    def read(folder: Path) -> Any:
        return bx.read(folder / "net.csv.gz", max_size=1 << 24)

    return Target(lambda folder: bx.write(_multiplex(frozenset({"weight"})), folder / "net.csv.gz"), read)


def _excel() -> Target:
    import pandas as pd

    def make(folder: Path) -> None:
        rows = {"source": [1, 2, 3], "target": [2, 3, 1], "layer": ["a", "b", "a"], "weight": [1, 2.5, 3]}
        pd.DataFrame(rows).to_excel(folder / "net.xlsx", index=False)

    return Target(make, lambda folder: bx.read(folder / "net.xlsx"), 2)


def _pairs() -> Target:
    def make(folder: Path) -> None:
        (folder / "pairs.csv").write_text("source,target\nann,bob\ncid,dan\n")

    return Target(make, lambda folder: read_pairs(folder / "pairs.csv", _multiplex(frozenset())))


def _nodes() -> Target:
    def make(folder: Path) -> None:
        (folder / "nodes.csv").write_text("id,type,age,note\nann,a,1,x\nbob,b,2.5,y\ncid,a,3,z\ndan,b,4,\n")

    return Target(make, lambda folder: with_node_table(_multiplex(frozenset()), folder / "nodes.csv"))


def _graph() -> bx.Multiplex:
    ends = np.random.default_rng(0).integers(0, 12, (2, 60))
    return bx.Multiplex.from_edges(ends[0], ends[1], np.repeat([*"ab"], 30), num_nodes=12, self_loops="drop")


def _learner() -> bx.LinkPredictor:
    return bx.LinkPredictor(epochs=1, warmup=0, width=0, batch_size=64)


def _model() -> Target:
    return Target(
        lambda folder: _learner().fit(_graph()).save(folder / "run"),
        lambda folder: bx.LinkPredictor.load(folder / "run").score_pairs([[0, 1]], "a"),
        2,
    )


def _page() -> Target:
    from banditplex.report.about import write_about
    from banditplex.report.collect import collect_run

    def make(folder: Path) -> None:
        model = _learner().fit(_graph())
        model.save(folder / "run")
        write_about(folder / "run", "data.csv", _graph(), model)

    return Target(make, lambda folder: collect_run(folder / "run", bx.LinkPredictor.load(folder / "run")), 2)


def _checkpoint() -> Target:
    def make(folder: Path) -> None:
        _learner().fit(_graph(), checkpoint=folder / "run")

    return Target(make, lambda folder: _learner().fit(_graph(), checkpoint=folder / "run", resume=True), 1)


def _results() -> Target:
    from banditplex.storage.rows import RowStore, read_results

    def make(folder: Path) -> None:
        store = RowStore(folder / "rows.jsonl", {"trials": 1, "hide": "layer"})
        for key in ("trial 0", "trial 1"):
            store.add(key, [{"method": "a", "roc_auc": 0.5, "layer": None}])

    return Target(make, lambda folder: json.dumps(read_results(folder / "rows.jsonl")[1]))


def targets() -> dict[str, Target]:
    """Return all targets by name."""
    found = {name: _format(name) for name in formats if formats[name].write is not None}
    found |= {"sniffed": _sniffed(), "tables": _tables(), "noted": _noted(), "compressed": _compressed()}
    found |= {
        "wide": _wide(),
        "matrix": _matrix(),
        "gatne": _gatne(),
        "edge-lists": _edge_lists(),
        "multinet": _texts({"net.mpx": MULTINET}),
        "graphml": _texts({"net.graphml": GRAPHML}),
        "triples": _texts({"net.triples": "Zoë\twork\t7.0\n7.0\twork\tUli\nUli\thome\tZoë\n"}),
        "comune": _texts(COMUNE),
    }
    found |= {"pairs": _pairs(), "nodes": _nodes()}
    found |= {"model": _model(), "page": _page(), "checkpoint": _checkpoint(), "results": _results()}
    try:
        import openpyxl  # type: ignore[import-untyped]  # noqa: F401

        found["xlsx"] = _excel()
    except ImportError:
        warnings.warn("xlsx is not fuzzed: openpyxl is not installed.", stacklevel=2)
    return found
