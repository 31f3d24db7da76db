import os
from pathlib import Path

import numpy as np
import pytest

from banditplex.io import read
from banditplex.io.edgelists import SUFFIXES, natural
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses


def test_layers_by_hand(tmp_path):
    """Blanks, tabs, commas, comments, CRLF, blank lines, a missing weight column and an empty layer."""
    lay_out(
        tmp_path,
        {
            "l10.txt": "1 2 \n2  3\t\n",
            "l2.edges": "# u v w\r\n\r\n 1\t3 0.5\r\n3 3 2\r\n",
            "a.csv": "2, 1, 4\n",
            "empty.txt": "",
            "notes.md": "not an edge list",
            ".hidden.txt": "neither is this one",
        },
    )
    mx = read(tmp_path)
    assert mx.layer_names == ("a", "empty", "l2", "l10")  # natural order
    assert edges_by_name(mx) == [
        ("a", 1, 2, 4.0, None),
        ("l2", 1, 3, 0.5, None),
        ("l2", 3, 3, 2.0, None),
        ("l10", 1, 2, 1.0, None),
        ("l10", 2, 3, 1.0, None),
    ]
    assert read(tmp_path, directed=True).num_edges == 5
    assert read(tmp_path, pattern="l*").layer_names == ("l2", "l10")


def test_times_stand_in_the_fourth_column(tmp_path):
    mx = read(lay_out(tmp_path, {"a.txt": "x y 1 1700000000000000001\n", "b.txt": "y z 1 3\n"}))
    assert mx.weight is None
    assert mx.time.tolist() == [1700000000000000001, 3]  # beyond what a float can hold


def test_a_usual_header_is_no_edge(tmp_path):
    """Also if only one of the files has it."""
    lay_out(tmp_path, {"a.txt": "Source,Target,Weight\nann,bob,3\n", "b.txt": "bob,ann\n"})
    with pytest.warns(UserWarning, match="'Source Target' are read as names of columns; header=False"):
        mx = read(tmp_path)
    assert edges_by_name(mx) == [("a", "ann", "bob", 3.0, None), ("b", "ann", "bob", 1.0, None)]
    with refuses_file(tmp_path / "a.txt", "'Weight'", line=1):
        read(tmp_path, header=False)
    pair = lay_out(tmp_path / "pair", {"a.txt": "from to\n"})
    assert edges_by_name(read(pair, header=False)) == [("a", "from", "to", 1.0, None)]


@pytest.mark.parametrize(
    "files",
    [
        {"a.txt": "caller called\n1 2\n2 3\n"},  # words above integers
        {"a.txt": "caller called\nann bob\nbob cid\n", "b.txt": "caller called\nann dan\n"},  # in all files alike
    ],
)
def test_headers_of_other_words_are_noticed(tmp_path, files):
    with pytest.warns(UserWarning, match="'caller called' are read as names of columns; header=False"):
        mx = read(lay_out(tmp_path, files))
    assert mx == read(tmp_path, header=True).with_metadata(**mx.metadata)
    assert read(tmp_path, header=False).num_nodes == mx.num_nodes + 2


def test_what_is_about_the_data_is_no_layer(tmp_path):
    files = {"a.txt": "1 2\n", "README.txt": "Links.\nSee the paper of 2024.\n", "licence.txt": "free to use\n"}
    with pytest.warns(UserWarning, match=r"no edge lists: README.txt, licence.txt"):
        assert read(lay_out(tmp_path, files)).layer_names == ("a",)


def test_first_edges_that_are_alike_are_edges(tmp_path):
    lay_out(tmp_path, {"a.txt": "ann bob\nbob cid\n", "b.txt": "ann bob\n"})  # bob is in another edge, too
    assert read(tmp_path).num_edges == 3
    assert read(lay_out(tmp_path / "few", {"a.txt": "ann bob\n", "b.txt": "ann bob\n"})).num_edges == 2


@pytest.mark.parametrize(
    ("files", "wrong", "line", "values"),
    [
        ({"a.txt": "1 2\n\n1 2 3\n"}, "a.txt", 3, ["2 columns", "got 3", "'1 2 3'"]),
        ({"a.txt": "1 2 3\n1 2\n"}, "a.txt", 2, ["3 columns", "got 2", "'1 2'"]),
        ({"a.txt": "1\n"}, "a.txt", 1, ["2 to 4 columns", "got 1", "'1'"]),
        ({"a.txt": "1 2 3 4 5\n"}, "a.txt", 1, ["2 to 4 columns", "got 5", "'1 2 3 4 5'"]),
        ({"a.csv": "1,2\n,2\n"}, "a.csv", 2, ["name", "column 1"]),
        ({"a.txt": "1 2 3\n\n1 3 x\n"}, "a.txt", 3, ["number", "weight", "'x'"]),
        ({"a.txt": "1 2 3\n1 3 nan\n"}, "a.txt", 2, ["weight", "nan"]),
        ({"a.txt": "1 2 3\n\n1 3 -1\n"}, "a.txt", 3, ["weight", "-1.0"]),
        ({"a.txt": "1 2\n", "b.txt": "1 2 3\n1 3 inf\n"}, "b.txt", 2, ["weight", "inf"]),
        ({"a.txt": "1 2 1 noon\n"}, "a.txt", 1, ["number", "time", "'noon'"]),
        ({"a.txt": "1 2 1 5\n", "b.txt": "1 2\n"}, "b.txt", None, ["time", "column 4", "a.txt"]),
        ({"a.txt": "1 2\n", "a.csv": "1,2\n"}, "", None, ["layer", "'a'"]),
        ({"a.txt": b"1 2\n1 \xff\n"}, "a.txt", 2, ["UTF-8", "0xff"]),
    ],
)
def test_bad_files(tmp_path, files, wrong, line, values):
    with refuses_file(tmp_path / wrong, *values, line=line):
        read(lay_out(tmp_path, files))


def test_no_edge_lists(tmp_path):
    lay_out(tmp_path, {"readme.md": ""})
    with refuses(tmp_path, "format"):
        read(tmp_path)
    with refuses_file(tmp_path, *SUFFIXES):
        read(tmp_path, format="edge-lists")
    with refuses_file(tmp_path / "readme.md", "folder"):
        read(tmp_path / "readme.md", format="edge-lists")


def test_progress_ends_at_the_total(tmp_path):
    calls = []
    read(lay_out(tmp_path, {"a.txt": "1 2\n", "b.txt": "1 2 3\n"}), progress=lambda *call: calls.append(call))
    assert calls == [(4, 10), (10, 10)]


def test_natural_order():
    names = ["l10", "l9", "l010", "b", "10", "9", "l", ""]
    assert sorted(names, key=natural) == ["", "9", "10", "b", "l", "l9", "l010", "l10"]


DATA = os.environ.get("BANDITPLEX_DATA")


@pytest.mark.skipif(not DATA, reason="BANDITPLEX_DATA is not set")
def test_trade_in_364_files():
    """The counts that the data's own README gives."""
    fao = read(Path(DATA) / "fao" / "layers", directed=True)
    assert fao.layer_names == tuple(f"trans{number}" for number in range(1, 365))
    assert (fao.num_nodes, fao.num_edges, fao.to_undirected().num_edges) == (214, 318_346, 268_339)
    assert np.count_nonzero(fao.edge_index[0] == fao.edge_index[1]) == 741
    first = np.loadtxt(Path(DATA) / "fao" / "layers" / "trans1.txt", np.int64)
    assert np.array_equal(fao.node_names[fao.edges("trans1")].T, np.unique(first, axis=0))
