"""Tables as people have them: folders of two columns, event logs, wide tables, matrices; and data in memory."""

import random

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import banditplex as bx
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.io.test_messy import said
from tests.refusals import refuses

# Two columns under a header


@pytest.mark.parametrize("header", ["household_1,household_2", "sender,recipient", "Person A,Person B"])
@pytest.mark.parametrize("ids", [["h1", "h2", "h3", "h4"], ["1", "2", "3", "4"]])
def test_a_folder_is_read_as_the_list_of_its_files(tmp_path, header, ids):
    a, b, c, d = ids
    texts = {"help.csv": f"{header}\n{a},{b}\n{b},{c}\n", "visit.csv": f"{header}\n{a},{c}\n{d},{b}\n"}
    files = lay_out(tmp_path, texts)
    _, folder = said(lambda: bx.read(files))
    _, listed = said(lambda: bx.read([files / name for name in texts]))
    assert folder == listed
    assert folder.layer_names == ("help", "visit")
    assert [(layer, str(u), str(v)) for layer, u, v, *_ in edges_by_name(folder)] == [
        ("help", a, b), ("help", b, c), ("visit", a, c), ("visit", b, d)
    ]  # fmt: skip


def test_headers_of_other_words_are_no_edges(tmp_path):
    """Columns that share nodes are read; columns of two kinds are refused with a hint, in a folder and as a list."""
    texts = {"a.csv": "chef,mitglied\n1,2\n2,3\n3,1\n", "b.csv": "chef,mitglied\n2,1\n3,2\n1,3\n"}
    files = lay_out(tmp_path / "staff", texts)
    told, mx = said(lambda: bx.read(files))
    assert mx.node_names.tolist() == [1, 2, 3]
    assert any("'chef' and 'mitglied' are read as source and target" in each for each in told)
    texts = {"a.csv": "patient,drug\np1,d1\np2,d2\n", "b.csv": "patient,drug\np1,d2\np3,d1\n"}
    other = lay_out(tmp_path / "care", texts)
    for what in (other, [other / name for name in texts]):
        with refuses("a.csv", "source='patient', destination='drug'"):
            bx.read(what)


def test_edges_without_a_header_stay_edges(tmp_path):
    mx = bx.read(lay_out(tmp_path, {"a.csv": "ann,bob\nbob,cid\n", "b.csv": "cid,ann\n"}))
    assert edges_by_name(mx) == [
        ("a", "ann", "bob", 1, None),
        ("a", "bob", "cid", 1, None),
        ("b", "ann", "cid", 1, None),
    ]


# Event logs


def event_log(rows=300, seed=0):
    rng = random.Random(seed)
    people = [f"p{number}" for number in range(20)]
    lines = ["timestamp,sender,recipient,channel,subject"]
    for row in range(rows):
        u, v = rng.sample(people, 2)
        lines.append(f"2024-05-{row % 28 + 1:02} 10:00:00,{u},{v},{rng.choice(['mail', 'chat', 'call'])},about {row}")
    return "\n".join(lines) + "\n"


def test_an_event_log_is_recognised(tmp_path):
    files = lay_out(tmp_path, {"log.csv": event_log()})
    told, mx = said(lambda: bx.read(files / "log.csv"))
    assert mx.layer_names == ("call", "chat", "mail")
    assert mx.num_nodes == 20
    assert mx.metadata["dates"]
    first = min(mx.time)
    assert np.datetime64(int(first), "ns") == np.datetime64("2024-05-01T10:00:00")
    assert any("'timestamp' is read as the time" in each and "'channel' is read as the layer" in each for each in told)


def test_the_log_of_a_shop_is_recognised(tmp_path):
    text = "from,to,event\n7,p1,view\n7,p1,purchase\n8,p1,view\n8,p2,view\n"
    files = lay_out(tmp_path, {"shop.csv": text})
    told, mx = said(lambda: bx.read(files / "shop.csv"))
    assert mx.layer_names == ("purchase", "view")
    assert mx.layer_sizes.tolist() == [1, 3]
    assert any("'event' is read as the layer" in each for each in told)


def test_columns_of_nodes_are_found_by_their_values(tmp_path):
    text = event_log().replace("timestamp,sender,recipient,channel", "moment,wer,wem,weg")
    told, mx = said(lambda: bx.read(lay_out(tmp_path, {"log.csv": text}) / "log.csv"))
    assert mx.num_nodes == 20
    assert any("'wer' and 'wem' are read as source and target" in each for each in told)
    assert any("layer='weg'" in each and "time='moment'" in each for each in told)


@pytest.mark.parametrize("values", [31, 150, 300])
def test_no_column_of_many_values_is_offered_as_the_layer(tmp_path, values):
    """300 rows: a layer has at most 30 values, be it chosen, or only suggested."""
    lines = [f"a{row % 40},b{row % 41},s{row % values}" for row in range(300)]
    for header in ("x,y,channel", "source,target,channel", "source,target,topic"):
        path = lay_out(tmp_path, {"log.csv": "\n".join([header, *lines])}) / "log.csv"
        try:
            told, mx = said(lambda path=path: bx.read(path))
        except bx.InputError as error:
            told, mx = [str(error)], None
        assert mx is None or mx.num_layers == 1
        assert not any("layer='" in each for each in told)


# Wide tables


WIDE = "from,to,friend,work,advice,note\nann,bob,1,0,2.5,x\nbob,cid,0,yes,,y\nann,cid,1,1,0,z\n"
EDGES = [
    ("friend", "ann", "bob", 1, None),
    ("friend", "ann", "cid", 1, None),
    ("work", "ann", "cid", 1, None),
    ("work", "bob", "cid", 1, None),
    ("advice", "ann", "bob", 2.5, None),
]


def test_a_wide_table_has_a_layer_per_column(tmp_path):
    path = lay_out(tmp_path, {"net.csv": WIDE}) / "net.csv"
    told, mx = said(lambda: bx.read(path, wide=True))
    assert sorted(edges_by_name(mx)) == sorted(EDGES)
    assert any("friend, work, advice" in each for each in told)
    assert any("not used: note" in each for each in told)
    assert any("numbers other than 0 and 1 in 'advice' are read as weights" in each for each in told)
    assert f"{path}: columns used: 'from' as source, 'to' as target." in mx.metadata["reading_notes"]
    assert said(lambda: bx.read(pd.read_csv(path), wide=True))[1] == mx


def test_wide_tables_of_all_kinds_are_read_alike(tmp_path):
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 3], "a": [1, 0], "b": [0.5, 2.0]})
    frame.to_parquet(tmp_path / "net.parquet")
    frame.to_csv(tmp_path / "net.csv", index=False)
    frame.to_excel(tmp_path / "net.xlsx", index=False)
    expected = bx.Multiplex.from_edges([1, 1, 2], [2, 2, 3], ["a", "b", "b"], weight=[1, 0.5, 2])
    for ending in ("parquet", "csv", "xlsx"):
        assert said(lambda ending=ending: bx.read(tmp_path / f"net.{ending}", wide=True))[1] == expected


def test_wide_is_offered_and_what_is_not_wide_is_refused(tmp_path):
    path = lay_out(tmp_path, {"net.csv": "source,target,friend,work\na,b,1,0\nb,c,0,1\n"}) / "net.csv"
    told, _ = said(lambda: bx.read(path))
    assert any("wide=True" in each and "'friend' and 'work'" in each for each in told)
    lay_out(tmp_path, {"net.csv": "source,target,note\na,b,x1\n"})
    with refuses_file(path, "numbers", "'note'"):
        bx.read(path, wide=True)
    lay_out(tmp_path, {"net.csv": "source,target,a\nx,y,1\nx,,1\n"})
    with refuses_file(path, "destination", "empty", line=3):
        said(lambda: bx.read(path, wide=True))


def test_rows_of_more_cells_than_the_header_has(tmp_path):
    path = (
        lay_out(tmp_path, {"net.csv": "source,target,a\nx,y,1,2\n", "nodes.csv": "id,age\nx,1,2\ny,3,4\n"}) / "net.csv"
    )
    with refuses_file(path, "3 columns"):
        bx.read(path, wide=True)
    lay_out(tmp_path, {"net.csv": "source,target\nx,y\n"})
    with refuses_file(tmp_path / "nodes.csv", "2 columns"):
        bx.read(path, node_table=tmp_path / "nodes.csv")


# Matrices


MATRICES = {"mail.csv": ",ann,bob,cid\nann,0,2,0\nbob,2,0,1\ncid,0,1,0\n", "chat.csv": ",ann,cid\nann,0,1\ncid,1,0\n"}


def test_matrices_are_layers(tmp_path):
    files = lay_out(tmp_path, MATRICES)
    expected = bx.Multiplex.from_edges(
        ["ann", "bob", "ann"], ["bob", "cid", "cid"], ["mail", "mail", "chat"], weight=[2, 1, 1],
        layer_names=["mail", "chat"],
    )  # fmt: skip
    assert bx.read([files / name for name in MATRICES], matrix=True) == expected
    assert bx.read(files, matrix=True).layer_names == ("chat", "mail")
    assert bx.read(files / "mail.csv", matrix=True).num_edges == 2
    (files / "chat.csv").unlink()
    for path in (files / "mail.csv", files):
        with refuses("mail.csv", "matrix=True"):
            bx.read(path)


def test_directed_and_bare_matrices(tmp_path):
    files = lay_out(tmp_path, {"a.csv": "0,1,0\n0,0,0\n5,0,0\n", "b.csv": ",y,x\nx,7,0\ny,0,3\n"})
    bare = bx.read(files / "a.csv", matrix=True, header=False)
    assert bare.directed
    assert edges_by_name(bare) == [("edges", 0, 1, 1, None), ("edges", 2, 0, 5, None)]
    turned = bx.read(files / "b.csv", matrix=True)  # rows in another order than columns: x-y 7, y-x 3
    assert edges_by_name(turned) == [("edges", "x", "y", 7, None), ("edges", "y", "x", 3, None)]
    assert edges_by_name(bx.read(files / "b.csv", matrix=True, directed=False)) == [("edges", "x", "y", 7, None)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (",a,b\na,0,1\nc,1,0\n", ["'c' only in the first column", "header=False"]),
        (",a,b\na,0,1\n", ["'b' only in the first row"]),
        ("who,a,b\na,0,1\n", ["'b' only in the first row"]),
        (",1,2,3\n1,0,1,0\n2,1,0,1\n", ["'3' only in the first row"]),
        (",a,b\na,0,1\nb,1,0\nb,1,0\n", ["'b' twice"]),
        (",a,b,b\na,0,1,1\nb,1,0,1\nb,1,0,1\n", ["'b' twice"]),
        (",a,b\nb,0,much\na,1,0\n", ["row 'b', column 'b'", "number", "'much'"]),
        (",a,b\nb,0,2\na,-1,0\n", ["row 'a', column 'a'", "'-1'"]),
        ("a,b\n0,1\n2,much\n", ["row 2, column 'b'", "'much'"]),
        ("a,b,c\n1,2,3\n", ["square", "1 rows and 3 columns"]),
    ],
)
def test_what_is_no_matrix(tmp_path, text, values):
    """Said of a file alone, and of one of several, as the user sees it: the column of names is not counted."""
    path = lay_out(tmp_path, {"net.csv": text, "good.csv": ",a\na,0\n"}) / "net.csv"
    for paths in (path, [tmp_path / "good.csv", path]):
        with refuses(path, *values):
            bx.read(paths, matrix=True)
    with refuses("wide", "matrix"):
        bx.read(tmp_path / "net.csv", matrix=True, wide=True)


def test_a_wrong_cell_of_a_matrix_without_names(tmp_path):
    with refuses("net.csv, row 2, column '3': ", "'y1'"):
        bx.read(lay_out(tmp_path, {"net.csv": "0,1,0\n0,0,y1\n5,0,0\n"}) / "net.csv", matrix=True, header=False)


# Data in memory


def test_read_and_fit_take_what_is_in_memory():
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "layer": ["x", "y"]})
    expected = bx.Multiplex.from_pandas(frame)
    assert bx.read(frame) == expected
    assert bx.read(expected) == expected
    assert bx.read(expected.to_networkx()) == expected
    assert bx.read(expected.to_hetero_data()) == expected
    matrices = {layer: expected.to_scipy(layer) for layer in expected.layer_names}
    assert bx.read(matrices).layer_sizes.tolist() == [1, 1]
    assert bx.read(sp.csr_array(np.eye(3, k=1)), directed=False).num_edges == 2
    graphs = {"x": nx.Graph([("a", "b")]), "y": nx.Graph([("b", "c")])}
    assert bx.read(graphs) == expected
    assert bx.read({"x": frame.head(1), "y": frame.tail(1)}) == expected
    assert bx.read(nx.DiGraph([(1, 2)]), directed=False).num_edges == 1
    twins = bx.load_dataset("twins").subset(["a", "a-twin"])
    model = bx.LinkPredictor(epochs=1, members=1, seed=0)
    assert model.fit(twins.to_networkx()).multiplex_ == twins


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (5, ["file or folder", "got int"]),
        ({}, ["layer", "empty"]),
        ({"x": 5}, ["int", "'x'", "networkx"]),
        ([[0, 1], [1, 2]], ["from_edges", "list"]),
        (None, ["NoneType"]),
    ],
)
def test_what_is_nothing_of_the_kind(data, values):
    with refuses(*values):
        bx.read(data)
    with refuses(*values):
        bx.LinkPredictor().fit(data)


def test_a_notebook_shows_a_small_table():
    """Layer x has 1 of 3 pairs, y has 2 of 3; names are escaped."""
    mx = bx.Multiplex.from_edges(["a", "a", "b"], ["b", "b", "c"], ["<x>", "y", "y"])
    html = mx._repr_html_()
    assert "<th>&lt;x&gt;</th><td>1</td><td>0.333</td>" in html
    assert "<th>y</th><td>2</td><td>0.667</td>" in html
    assert "3 nodes, 2 layers, 3 edges" in html
    assert bx.planted(30, 0, 0.5, num_nodes=9, edges_per_layer=3)._repr_html_().count("<tr>") == 1 + 20 + 1
