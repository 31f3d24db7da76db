import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from tests.io.checks import comes_back, edges_by_name, lay_out, refuses_file
from tests.io.strategies import multiplexes, strings
from tests.refusals import refuses

NAMES = strings.filter(lambda name: name and name == name.strip(" \t") and "," not in name).filter(
    lambda name: not name.startswith(("#", "--"))
)


@given(multiplexes(names=NAMES, types=NAMES))
def test_round_trip(mx):
    assert comes_back(mx, "net.mpx", None)


@given(st.sampled_from([" a", "a ", "a,b", "#a", "--a", "", "a\nb", "a\rb"]), st.booleans())
def test_names_that_cannot_be_held_are_refused(name, is_layer):
    mx = Multiplex.from_edges(["u"], ["v"], [name]) if is_layer else Multiplex.from_edges([name], ["v"], ["l"])
    with refuses("layer name" if is_layer else "node name", repr(name)):
        comes_back(mx, "net.mpx", None)


def test_directed_without_layers_and_features_without_columns():
    nothing = {"source": [], "destination": [], "layer": []}
    assert comes_back(Multiplex.from_edges(**nothing, directed=True), "net.mpx", None)
    assert comes_back(Multiplex.from_edges(**nothing, num_nodes=2, node_features=np.empty((2, 0))), "net.mpx", None)


FULL = """\
-- a comment
#version
3.0
#Type
multiplex

#ACTOR ATTRIBUTES
wealth, NUMERIC
town,STRING
priorates,double

#NODE ATTRIBUTES
work,since,NUMERIC

#EDGE ATTRIBUTES
work,note,STRING
work,weight,NUMERIC
time,NUMERIC

#LAYERS
work,DIRECTED
home,UNDIRECTED,LOOPS

#ACTORS
bob, 10, Rome, 1
ann,20.5,Oslo,2
eve,0,Bern,3

#VERTICES
ann,work,1999
dan,home

#EDGES
bob,ann,work,hello,0.5,7
ann,bob,work,again,2,8
  ann , bob , home , 9

eve,eve,home,3
"""


def test_full_file_by_hand(tmp_path):
    """Attributes of one layer come before those of all; undirected layers stand both ways in a directed multiplex."""
    path = lay_out(tmp_path, {"net.mpx": FULL}) / "net.mpx"
    mx = read(path)
    assert mx.directed
    assert mx.metadata["undirected_layers"] == ["home"]
    assert mx.layer_names == ("work", "home")
    assert mx.node_names.tolist() == ["bob", "ann", "eve", "dan"]
    assert edges_by_name(mx) == [
        ("work", "bob", "ann", 0.5, 7),
        ("work", "ann", "bob", 2.0, 8),
        ("home", "bob", "ann", 1.0, 9),
        ("home", "ann", "bob", 1.0, 9),
        ("home", "eve", "eve", 1.0, 3),
    ]
    assert mx.node_features is None


def test_where_actors_are_listed_edges_have_no_others(tmp_path):
    for other in ("fay,ann,home,3", "ann,fay,home,3"):
        path = lay_out(tmp_path, {"net.mpx": FULL.replace("eve,eve,home,3", other)}) / "net.mpx"
        line = 1 + FULL.splitlines().index("eve,eve,home,3")
        with refuses_file(path, "#ACTORS", "'fay'", line=line):
            read(path)
    path.write_text("#LAYERS\nhome,UNDIRECTED\n#ACTORS\n#EDGES\nann,fay,home\n")  # lists none: edges name them
    assert read(path).node_names.tolist() == ["ann", "fay"]


def test_as_undirected(tmp_path):
    path = lay_out(tmp_path, {"net.mpx": FULL}) / "net.mpx"
    assert edges_by_name(read(path, directed=False)) == [
        ("work", "bob", "ann", 2.5, 7),
        ("home", "bob", "ann", 1.0, 9),
        ("home", "eve", "eve", 1.0, 3),
    ]


def test_features_by_name(tmp_path):
    listed = FULL.replace("dan,home\n", "")
    path = lay_out(tmp_path, {"net.mpx": listed, "more.mpx": FULL}) / "net.mpx"
    assert read(path, features=["priorates", "wealth"]).node_features.tolist() == [[1, 10], [2, 20.5], [3, 0]]
    assert read(path, features=[]).node_features is None
    with refuses_file(path, "features", "wealth, priorates", "'town'"):
        read(path, features=["town"])
    with refuses_file(tmp_path / "more.mpx", "features", "'dan'"):
        read(tmp_path / "more.mpx", features=["wealth"])


def test_weight_and_time_by_name(tmp_path):
    path = lay_out(tmp_path, {"net.mpx": FULL}) / "net.mpx"
    assert read(path, weight="time").weight.tolist() == [7, 8, 9, 9, 3]
    for option in ("weight", "time"):
        with refuses_file(path, option, "time, weight", "'note'"):
            read(path, **{option: "note"})


def test_no_section_at_all_means_edges(tmp_path):
    path = (
        lay_out(tmp_path, {"net.mpx": "Actor1,Actor2,Layer1\nActor1,Actor3,Layer1\nActor4,Actor2,Layer2\n"}) / "net.mpx"
    )
    mx = read(path)
    assert not mx.directed
    assert mx.layer_names == ("Layer1", "Layer2")
    assert [edge[:3] for edge in edges_by_name(mx)] == [
        ("Layer1", "Actor1", "Actor2"),
        ("Layer1", "Actor1", "Actor3"),
        ("Layer2", "Actor2", "Actor4"),
    ]
    assert read(path, directed=True).num_edges == 6


def test_multilayer_without_edges_between_layers(tmp_path):
    text = "#TYPE multilayer\n#LAYERS\na,a,DIRECTED\nb,b,DIRECTED\na,b,UNDIRECTED\n#EDGES\nu,a,v,a\nv,b,u,b\n"
    mx = read(lay_out(tmp_path, {"net.mpx": text}) / "net.mpx")
    assert [edge[:3] for edge in edges_by_name(mx)] == [("a", "u", "v"), ("b", "v", "u")]


def test_content_is_recognised(tmp_path):
    lay_out(tmp_path, {"net.dat": "#EDGES\r\nu,v,a\r\n", "other.dat": "# Edges of what?\nu v\n"})
    assert read(tmp_path / "net.dat").num_edges == 1
    with refuses(tmp_path / "other.dat", "format"):
        read(tmp_path / "other.dat")


HEAD = "#LAYERS\na,UNDIRECTED\nb,DIRECTED\n"  # three lines


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("", None, ["empty"]),
        ("-- nothing\n\n", None, ["empty"]),
        ("u,v,a\nu,v\n", 2, ["3 columns", "got 2", "'u,v'"]),
        ("u,v,a\nu,,a\n", 2, ["name", "column 2"]),
        ("u,v,a\nu,v, \n", 2, ["name", "column 3"]),
        ("#ACTORS\nu\n#VERTICES\nu,\n", 4, ["name", "column 2"]),
        (HEAD + "#EDGES\n\nu,v,a\nu,v,c\n", 7, ["#LAYERS", "'c'"]),
        (HEAD + "#VERTICES\nu,c\n", 5, ["#LAYERS", "'c'"]),
        (HEAD + "#EDGES\nu,v,a,1\n", 5, ["3 columns", "got 4", "'u,v,a,1'"]),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1\n",
            *(8, ["3 columns", "layer 'b'", "got 4"]),
        ),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1,2\n",
            *(8, ["3 or 4 columns", "got 5", "'u,v,b,1,2'"]),
        ),
        (HEAD + "#EDGE ATTRIBUTES\na,time,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b\n", 8, ["layer", "time"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,x\n", 4, ["number", "weight", "'x'"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,1\n-- no\nu,v,a,nan\n", 6, ["weight", "nan"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,-2\n", 4, ["weight", "-2.0"]),
        ("#EDGE ATTRIBUTES\nweight\n", 2, ["[layer,]attribute,type", "NUMERIC", "'weight'"]),
        ("#EDGE ATTRIBUTES\nweight,NUMBER\n", 2, ["[layer,]attribute,type", "NUMERIC", "'weight,NUMBER'"]),
        ("#VERTEX ATTRIBUTES\nage,NUMERIC\n", 2, ["layer,attribute,type", "'age,NUMERIC'"]),
        ("#ACTOR ATTRIBUTES\nage,NUMERIC\nage,STRING\n", 3, ["attribute", "'age'"]),
        ("#ACTOR ATTRIBUTES\nage,NUMERIC\n#ACTORS\nu\n", 4, ["2 columns", "got 1", "'u'"]),
        ("#ACTORS\nu\nv\nu\n", 4, ["actor", "'u'"]),
        ("#ACTOR ATTRIBUTES\nfeature_0,NUMERIC\n#ACTORS\nu,old\n", 4, ["number", "'old'"]),
        ("#ACTOR ATTRIBUTES\nfeature_0,NUMERIC\n#ACTORS\nu,inf\n", 4, ["number", "inf"]),
        ("#LAYERS\na\n", 2, ["DIRECTED", "UNDIRECTED", "'a'"]),
        ("#LAYERS\na,ARROWS\n", 2, ["DIRECTED", "UNDIRECTED", "'a,ARROWS'"]),
        ("#LAYERS\na,DIRECTED\na,DIRECTED\n", 3, ["layer", "'a'"]),
        ("#TYPE\nmultigraph\n", 2, ["multiplex", "multilayer", "'multigraph'"]),
        ("#TYPE multigraph\n", 1, ["multiplex", "multilayer", "'multigraph'"]),
        ("#VERSION\n4.0\n", 2, ["3.0", "'4.0'"]),
        ("\n#EGDES\n", 2, ["EDGES", "#EGDES"]),
        ("#TYPE\nmultilayer\n#EDGES\nu,a,v,a\nu,a,v,b\n", 5, ["'a' to 'b'"]),
        ("#INTERLAYER EDGES\nu,a,v,b\n", 2, ["'u,a,v,b'"]),
        (b"#EDGES\nu,v,\xff\n", 2, ["UTF-8", "0xff"]),
    ],
)
def test_bad_files(tmp_path, text, line, values):
    path = lay_out(tmp_path, {"net.mpx": text}) / "net.mpx"
    with refuses_file(path, *values, line=line):
        read(path)


def test_what_is_written(tmp_path):
    """Every line of a small file, as the format's description wants it."""
    mx = Multiplex.from_edges(
        ["ann", "bob"], ["bob", "bob"], ["work", "home"], weight=[0.5, 2], node_names=["bob", "ann"],
        node_features=np.array([[1.5], [0]]), directed=True,
    )  # fmt: skip
    write(mx, tmp_path / "net.mpx")
    assert (tmp_path / "net.mpx").read_text().split("\n\n") == [
        "#VERSION\n3.0",
        "#TYPE\nmultiplex",
        "#ACTOR ATTRIBUTES\nfeature_0,NUMERIC",
        "#EDGE ATTRIBUTES\nweight,NUMERIC",
        "#LAYERS\nhome,DIRECTED,LOOPS\nwork,DIRECTED",
        "#ACTORS\nbob,1.5\nann,0",
        "#EDGES\nbob,bob,home,2\nann,bob,work,0.5\n",
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["net.mpx"]  # nothing that needs a side note
