"""CoMuNe edge lists with companion files, by hand, by property, and as the real collection has them."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banditplex as bx
from banditplex.errors import FormatError
from banditplex.io import detect
from tests.io.checks import refuses_file
from tests.refusals import refuses


@pytest.fixture
def files(tmp_path):
    """Return a function that writes files by name and gives back the path of the first."""

    def write(**contents):
        for name, content in contents.items():
            path = tmp_path / (name + (".edges" if name.endswith(("multiplex", "bare")) else ".txt"))
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        first = next(iter(contents))
        return tmp_path / f"{first}.edges"

    return write


# Reading by hand

EDGES = "1 1 2 1\n2 3 1 0.5\n"
EXPECTED = bx.Multiplex.from_edges([1, 3], [2, 1], [1, 2], weight=[1, 0.5])


def test_ids_are_names_where_nothing_else_is_said(files):
    assert bx.read(files(net_multiplex=EDGES)) == EXPECTED
    assert bx.read(files(bare=EDGES)) == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        "1 1 2 1\r\n2 3 1 0.5\r\n",
        "1 1 2 1\n2 3 1 0.5",
        "\n1 1 2 1\n\n  \n2 3 1 0.5\n\n",
        "1\t1\t2\t1\n2\t3\t1\t0.5\n",
        "  1   1 2  1  \n2 3\t \t1 5e-1\t\r\n",
        "1 1 2 1.0\n2 3 1 .5\n",
    ],
    ids=["crlf", "no last line end", "blank lines", "tabs", "mixed", "floats"],
)
def test_any_white_space_will_do(files, text):
    assert bx.read(files(bare=text)) == EXPECTED


def test_three_columns_have_no_weights(files):
    assert bx.read(files(bare="1 1 2\n2 3 1\n")) == bx.Multiplex.from_edges([1, 3], [2, 1], [1, 2])


def test_weights_of_one_are_no_weights(files):
    assert bx.read(files(bare="1 1 2 1\n2 3 1 1.0\n")).weight is None


def test_companions_name_layers_and_nodes(files):
    path = files(
        net_multiplex=EDGES,
        net_layers="layerID layerLabel\n2 Tube (all lines)\n1 DLR\n3 empty\n",
        net_nodes="nodeID nodeLabel nodeLat nodeLong\r\n1 ann 0.5 -1\r\n2 bob 1 2\r\n3 cid 1e1 3\r\n4 dan 2 4\r\n",
    )
    mx = bx.read(path)
    assert mx.layer_names == ("Tube (all lines)", "DLR", "empty")
    assert mx.node_names.tolist() == ["ann", "bob", "cid", "dan"]
    assert mx.edges("Tube (all lines)").tolist() == [[0], [2]]
    assert mx.weights("Tube (all lines)").tolist() == [0.5]
    assert mx.edges("DLR").tolist() == [[0], [1]]


def test_labels_that_are_not_distinct_are_no_names(files):
    path = files(net_multiplex=EDGES, net_nodes="nodeID nodeLabel\n1 ann\n2 ann\n3 cid\n")
    assert bx.read(path).node_names.tolist() == [1, 2, 3]


def test_columns_without_labels_give_ids(files):
    path = files(net_multiplex=EDGES, net_nodes="nodeID nodeCity\r\n7 1\n3 1\n2 2\n1 2\n")
    assert bx.read(path).node_names.tolist() == [7, 3, 2, 1]


def test_companions_can_be_given(files, tmp_path):
    files(layers="nodeID nodeLabel\n1 a\n2 b\n", nodes="nodeID\n0\n1\n2\n3\n")
    path = files(bare=EDGES)
    mx = bx.read(path, layers=tmp_path / "layers.txt", nodes=str(tmp_path / "nodes.txt"))
    assert mx.layer_names == ("a", "b")
    assert mx.node_names.tolist() == [0, 1, 2, 3]
    with refuses_file(tmp_path / "none.txt", "layers"):
        bx.read(path, layers=tmp_path / "none.txt")


def test_declared_ids_start_at_one_unless_zero_occurs(files):
    assert bx.read(files(bare=EDGES), num_nodes=5).node_names.tolist() == [1, 2, 3, 4, 5]
    assert bx.read(files(bare="1 0 3\n"), num_nodes=5).node_names.tolist() == [0, 1, 2, 3, 4]


def test_direction_is_what_the_reader_says(files):
    path = files(bare="1 1 2 1\n1 2 1 1\n")
    assert bx.read(path).num_edges == 1
    assert bx.read(path, directed=True).num_edges == 2


def test_no_edges_are_an_answer_only_where_the_rest_is_declared(files):
    empty = files(bare="\n")
    with refuses_file(empty, "layer node node [weight]", "empty"):
        bx.read(empty)
    path = files(net_multiplex="", net_layers="layerID layerLabel\n1 a\n", net_nodes="nodeID\n1\n2\n")
    mx = bx.read(path)
    assert (mx.num_nodes, mx.layer_names, mx.num_edges) == (2, ("a",), 0)


def test_the_content_shows_what_it_is(tmp_path):
    (tmp_path / "edges.txt").write_text(EDGES)
    assert detect(tmp_path / "edges.txt").name == "comune"
    assert bx.read(tmp_path / "edges.txt") == EXPECTED


def test_progress_ends_at_the_size_of_the_file(files):
    seen = []
    path = files(bare=EDGES)
    bx.read(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(EDGES), len(EDGES))


# Bad input

BAD = {
    "ragged": ("1 1 2 1\n\n1 2 3\n", 3, ["4 columns", "got 3", "'1 2 3'"]),
    "long": ("1 1 2 1\n1 2 3 1 1\n", 2, ["4 columns", "got 5"]),
    "two columns": ("\n1 2\n", 2, ["3 to 4 columns", "got 2"]),
    "text": ("1 1 2 1\n1 x 3 1\n", 2, ["integer", "source", "'x'"]),
    "fraction": ("1 1 2 1\n1 2 3.5 1\n", 2, ["integer", "destination", "'3.5'"]),
    "weight": ("1 1 2 1\n1 1 3 heavy\n", 2, ["number", "weight", "'heavy'"]),
    "nan": ("1 1 2 1\n\n1 1 3 nan\n", 3, ["weight", "nan"]),
    "infinite": ("1 1 2 1\n1 1 3 inf\n", 2, ["weight", "inf"]),
    "negative": ("1 1 2 1\r\n1 1 3 -2\r\n", 2, ["weight", "-2.0"]),
    "huge": ("1 1 99999999999999999999 1\n", 1, ["integer", "destination", "'99999999999999999999'"]),
    "encoding": (b"1 1 2 1\n1 1 \xe9 1\n", 2, ["UTF-8", "0xe9"]),
    "utf-16": ("1 1 2 1\n".encode("utf-16"), 1, []),
    "messy and ragged": ("1  1\t2 1 \n1 2 3\n", 2, ["4 columns", "got 3"]),
    "beyond": ("1 1 2 1\n1 4 3 1\n1 2 9 1\n", 2, ["node", "from 1 to 3", "got 4"]),
}


@pytest.mark.parametrize(("content", "line", "values"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(files, content, line, values):
    path = files(bare=content)
    with refuses_file(path, *values, line=line):
        bx.read(path, num_nodes=3)


def test_unknown_ids_are_named(files):
    path = files(
        net_multiplex="1 1 2 1\n\n3 1 5 1\n", net_layers="layerID layerLabel\n1 a\n2 b\n", net_nodes="nodeID\n1\n2\n5\n"
    )
    with refuses_file(path, "layer", "from 1 to 2", "got 3", line=3):
        bx.read(path)
    path = files(net_multiplex="1 1 2 1\n\n2 1 4 1\n")
    with refuses_file(path, "node", "the 3", "got 4", line=3):
        bx.read(path)


BAD_NODES = {
    "ragged": ("nodeID nodeLabel nodeAge\n1 a 3\n2 b\n", 3, ["3 columns", "nodeID nodeLabel nodeAge", "got 2"]),
    "no label": ("nodeID nodeLabel\n1 a\n2\n", 3, ["2 columns", "nodeID nodeLabel", "got 1"]),
    "twice": ("nodeID nodeLabel\n1 a\n\n1 b\n", 4, ["id", "got 1"]),
    "text": ("nodeID nodeLabel\none a\n", 2, ["integer", "nodeID", "'one'"]),
    "encoding": (b"nodeID nodeLabel\n1 \xe9\n", 2, ["UTF-8", "0xe9"]),
    "no header": ("1 a\n2 b\n", 1, ["header", "nodeID nodeLabel", "'1 a'"]),
    "empty": ("", 1, ["header", "nodeID nodeLabel", "empty"]),
}


@pytest.mark.parametrize(("content", "line", "values"), BAD_NODES.values(), ids=BAD_NODES)
def test_bad_companions_are_named(files, tmp_path, content, line, values):
    path = files(net_multiplex=EDGES, net_nodes=content)
    with refuses_file(tmp_path / "net_nodes.txt", *values, line=line):
        bx.read(path)


def test_counts_that_contradict_are_refused(files, tmp_path):
    path = files(net_multiplex=EDGES, net_nodes="nodeID\n1\n2\n3\n")
    with refuses_file(tmp_path / "net_nodes.txt", "5 nodes", "got 3"):
        bx.read(path, num_nodes=5)


tokens = st.one_of(
    st.integers(-3, 30).map(str), st.sampled_from(["x", "1.5", "-1", "nan", "1e3", "99999999999999999999"])
)
rows_of_text = st.lists(
    st.lists(tokens, min_size=2, max_size=5) | st.lists(st.just("7"), min_size=3, max_size=4), max_size=3
)


@given(
    rows=rows_of_text,
    blank=st.sampled_from([" ", "\t", "  "]),
    end=st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n "]),
)
def test_any_rows_are_read_or_refused(rows, blank, end, tmp_path):
    """The fast parser takes exactly the files in which a plain loop finds rows of numbers."""
    path = tmp_path / "any.edges"
    path.write_text(end.join(blank.join(row) for row in rows), newline="")
    if rows and all(_is_row(row, len(rows[0])) for row in rows):
        mx = bx.read(path, directed=True)
        found = {(layer, *edge) for layer in mx.layer_names for edge in mx.node_names[mx.edges(layer).T].tolist()}
        assert found == {(int(layer), int(u), int(v)) for layer, u, v, *_ in rows}
    else:
        with refuses("any.edges", error=FormatError) as caught:
            bx.read(path)
        assert "\n" not in str(caught.value)


def _is_row(row, width):
    ids, weight = row[:3], row[3] if len(row) > 3 else "1"
    whole = all(re.fullmatch("-?[0-9]{1,18}", token) for token in ids)
    return 3 <= len(row) == width <= 4 and whole and weight != "x" and 0 <= float(weight) < np.inf


# The real collection

DATA = os.environ.get("BANDITPLEX_DATA")

# folder, edge file, directed, options; layers, nodes, lines, undirected, union
REAL = [
    ("ckm", "CKM-Physicians-Innovation_multiplex", True, {}, 3, 246, 1551, 1370, 924),
    ("vickers", "Vickers-Chan-7thGraders_multiplex", True, {}, 3, 29, 740, 518, 250),
    ("lazega", "Lazega-Law-Firm_multiplex", True, {}, 3, 71, 2223, 1659, 1132),
    ("lazega-corrected", "Lazega-Law-Firm_multiplex", True, {"num_nodes": 71}, 3, 71, 2571, 1842, 1008),
    ("euair", "EUAirTransportation_multiplex", False, {}, 37, 450, 3588, 3588, 2953),
    ("fao", "DERIVED_fao_trade_unweighted", True, "fao_trade", 364, 214, 318346, 268339, 9420),
    ("celegans", "celegans_connectome_multiplex", True, {}, 3, 279, 5863, 3105, 2287),
    ("arxiv", "arxiv_netscience_multiplex", False, {"num_nodes": 14489}, 13, 14489, 59026, 59026, 35175),
    ("london", "london_transport_multiplex", False, {}, 3, 369, 441, 441, 430),
    ("homo", "homo_genetic_multiplex", True, {}, 7, 18222, 170899, 153922, 137659),
    ("sacchcere", "sacchcere_genetic_multiplex", True, {}, 7, 6570, 282755, 247152, 223542),
    ("moscow", "MoscowAthletics2013_multiplex", True, {"num_nodes": 88804}, 3, 88804, 210250, 206017, 184940),
]


@pytest.mark.skipif(not DATA, reason="BANDITPLEX_DATA is not set")
@pytest.mark.parametrize(
    ("folder", "name", "directed", "options", "layers", "nodes", "edges", "undirected", "union"),
    REAL,
    ids=[row[0] for row in REAL],
)
def test_real_counts(folder, name, directed, options, layers, nodes, edges, undirected, union):
    where = Path(DATA) / folder
    if isinstance(options, str):
        options = {"layers": where / f"{options}_layers.txt", "nodes": where / f"{options}_nodes.txt"}
    mx = bx.read(where / f"{name}.edges", directed=directed, **options)
    assert (mx.num_layers, mx.num_nodes, mx.num_edges) == (layers, nodes, edges)
    assert (mx.weight is not None) == (folder in ("arxiv", "london", "moscow"))
    simple = mx.to_undirected()
    assert simple.num_edges == undirected
    assert simple.union().num_edges == union


@pytest.mark.skipif(not DATA, reason="BANDITPLEX_DATA is not set")
def test_real_names():
    euair = bx.read(Path(DATA) / "euair" / "EUAirTransportation_multiplex.edges")
    assert euair.layer_names[:2] == ("Lufthansa", "Ryanair")
    assert euair.node_names[:2].tolist() == ["LCLK", "EDDF"]
    london = bx.read(Path(DATA) / "london" / "london_transport_multiplex.edges")
    assert london.layer_names[0] == "Tube (All underground lines aggregated)"
    assert london.node_names[0] == "abbeyroad"
    ckm = bx.read(Path(DATA) / "ckm" / "CKM-Physicians-Innovation_multiplex.edges")
    assert ckm.node_names[:3].tolist() == [1, 2, 3]
