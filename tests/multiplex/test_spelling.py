"""Names that look the same."""

import warnings

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.io.tables.nodes import NodeFinder
from banditplex.multiplex.cells import merge_alike
from tests.io.checks import refuses_file
from tests.io.test_messy import put, said, says

COMPOSED, DECOMPOSED = "Zo\u00eb", "Zoe\u0308"


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "parquet"])
def test_spaces_around_names_are_left_out(tmp_path, ending):
    frame = pd.DataFrame({"source": [" ann", "ann", "bob\u00a0"], "target": ["bob", "cid", "cid "], "layer": "x"})
    path = tmp_path / f"net.{ending}"
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    (told,), mx = said(lambda: bx.read(path))
    assert mx == bx.Multiplex.from_edges(["ann", "ann", "bob"], ["bob", "cid", "cid"], "x")
    assert "spaces around 3 node names are left out" in told


def test_names_in_memory_are_taken_as_they_are():
    frame = pd.DataFrame({"source": [" ann"], "target": ["ann"], "layer": "x"})
    assert bx.Multiplex.from_pandas(frame).node_names.tolist() == [" ann", "ann"]


def test_numbers_with_spaces_are_integers(tmp_path):
    with says("spaces around 1 node name"):
        assert bx.read(put(tmp_path / "net.csv", "source,target\n 7,8\n")).node_names.tolist() == [7, 8]


def test_forms_of_unicode_are_one_name(tmp_path):
    path = put(tmp_path / "net.csv", f"source,target\n{COMPOSED},ann\n{DECOMPOSED},bob\n")
    (told,), mx = said(lambda: bx.read(path))
    assert mx.node_names.tolist() == ["Zoë", "ann", "bob"]
    assert "Unicode of 1 node name is composed (NFC)" in told


def test_untidy_names_come_back(tmp_path):
    mx = bx.Multiplex.from_edges([" ann", COMPOSED], ["ann", DECOMPOSED], [" x", "x"])
    for name in ("net.csv", "net.parquet"):
        bx.write(mx, tmp_path / name)
        assert bx.read(tmp_path / name) == mx


ALIKE = "source,target,layer\nAnna,bob,Work\nAnna,cid,Work\nanna,bob,work\nANNA  WEISS,cid,Work\nanna Weiß,dan,Work\n"


def test_names_that_differ_by_case_are_told(tmp_path):
    path = put(tmp_path / "net.csv", ALIKE)
    told, mx = said(lambda: bx.read(path))
    assert mx.num_nodes == 7
    assert mx.layer_names == ("Work", "work")
    assert "2 node names differ from another only by case or spaces" in told[0]
    assert "fold_case=True" in told[0]
    assert "'work' from 'Work'" in told[1]


def test_names_that_differ_by_case_are_merged_on_request(tmp_path):
    """By hand: Anna (2 rows) wins over anna (1); of the other two, once each, the first in order."""
    told, mx = said(lambda: bx.read(put(tmp_path / "net.csv", ALIKE), fold_case=True))
    rows = [("Anna", "bob"), ("Anna", "cid"), ("ANNA  WEISS", "cid"), ("ANNA  WEISS", "dan")]
    assert mx == bx.Multiplex.from_edges(*zip(*rows, strict=True), "Work")
    assert "2 node names merged with another spelling" in told[0]
    assert "1 layer name merged" in told[1]
    assert "1 of 5 rows merged" in told[2]
    frame = pd.read_csv(tmp_path / "net.csv")
    with warnings.catch_warnings(action="ignore"):
        assert bx.Multiplex.from_pandas(frame, fold_case=True) == mx


def test_merging_is_what_a_loop_would_do():
    rng = np.random.default_rng(0)
    names = np.array(sorted({"".join(rng.choice(list("aAbB"), 3)) for _ in range(60)}), dtype=object)
    codes = rng.integers(0, len(names), (2, 300))
    counts = {name: int((codes == i).sum()) for i, name in enumerate(names)}
    kept = {}
    for name in names:  # in order, so that the first of equals wins
        best = kept.get(name.lower())
        kept[name.lower()] = name if best is None or counts[name] > counts[best] else best
    with says("merged"):
        merged, places = merge_alike(names, codes, "node", None, fold=True)
    assert merged.tolist() == sorted(kept.values())
    assert merged[places].tolist() == [[kept[names[code].lower()] for code in row] for row in codes]


def test_a_table_of_nodes_is_spelled_as_the_edges(tmp_path):
    edges = put(tmp_path / "net.csv", "source,target\nAnna,bob\n")
    people = put(tmp_path / "people.csv", "id,age\nANNA,30\n bob,40\n")
    with says("node features"):
        mx = bx.read(edges, node_table=people, fold_case=True)
    assert mx.node_names.tolist() == ["Anna", "bob"]
    assert mx.node_features.tolist() == [[30], [40]]
    both = bx.Multiplex.from_edges(["Anna"], ["anna"], "a")
    assert NodeFinder(both.node_names, fold_case=True).find(["Anna", "anna"]).tolist() == [0, 1]  # what is known stays


def test_blank_cells_are_empty(tmp_path):
    path = put(tmp_path / "net.csv", "source,target\na,b\na,  \n")
    with says("1 of 2 rows left out"):
        assert bx.read(path, missing="drop").num_edges == 1
    with refuses_file(path, "empty cell", line=3):
        bx.read(path)


def test_repeated_rows_are_counted(tmp_path):
    """a-b twice, once the other way round; b-c twice; weights 1+2+4 and 8+16."""
    text = "source,target,weight,time\na,b,1,5\nb,a,2,3\na,b,4,9\nb,c,8,7\nb,c,16,6\n"
    path = put(tmp_path / "net.csv", text)
    (told,), mx = said(lambda: bx.read(path))
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], "edges", weight=[7, 24], time=[3, 6])
    assert "3 of 5 rows merged with another of the same nodes and layer, 1 of them the other way round" in told
    assert all(part in told for part in ("weights are added", "the earliest time counts", "directed=True"))
    (told,), mx = said(lambda: bx.read(path, directed=True))
    assert mx.num_edges == 3
    assert "2 of 5 rows merged" in told
    assert "directed" not in told
    (told,), mx = said(lambda: bx.read(path, directed=False))
    assert "2 of 5 rows merged" in told  # both directions are one edge, as was said
