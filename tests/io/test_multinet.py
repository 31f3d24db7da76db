import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.errors import FormatError, InputError
from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from tests.io.checks import comes_back, edges_by_name, lay_out
from tests.io.strategies import multiplexes, strings

NAMES = strings.filter(lambda name: name and name == name.strip(" \t") and "," not in name).filter(
    lambda name: not name.startswith(("#", "--"))
)


@given(multiplexes(names=NAMES))
def test_round_trip(mx):
    assert comes_back(mx, "net.mpx", None)


@given(st.sampled_from([" a", "a ", "a,b", "#a", "--a", "", "a\nb", "a\rb"]), st.booleans())
def test_names_that_cannot_be_held_are_refused(name, is_layer):
    mx = Multiplex.from_edges(["u"], ["v"], [name]) if is_layer else Multiplex.from_edges([name], ["v"], ["l"])
    with pytest.raises(InputError, match=r"Cannot write the (node|layer) name"):
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
        with pytest.raises(FormatError, match=f"line {line}: expected an actor that #ACTORS lists, got 'fay'"):
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
    with pytest.raises(InputError, match=r"numeric actor attributes \(wealth, priorates\), got 'town'"):
        read(path, features=["town"])
    with pytest.raises(InputError, match="features of every node, got none of 'dan'"):
        read(tmp_path / "more.mpx", features=["wealth"])


def test_weight_and_time_by_name(tmp_path):
    path = lay_out(tmp_path, {"net.mpx": FULL}) / "net.mpx"
    assert read(path, weight="time").weight.tolist() == [7, 8, 9, 9, 3]
    for option in ("weight", "time"):
        with pytest.raises(InputError, match=rf"{option} to be a numeric edge attribute \(time, weight\), got 'note'"):
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
    with pytest.raises(InputError, match="cannot tell the format"):
        read(tmp_path / "other.dat")


HEAD = "#LAYERS\na,UNDIRECTED\nb,DIRECTED\n"  # three lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected sections or edges, got an empty file"),
        ("-- nothing\n\n", ": expected sections or edges, got an empty file"),
        ("u,v,a\nu,v\n", ", line 2: expected 3 columns as in the lines before, got 2: 'u,v'"),
        ("u,v,a\nu,,a\n", ", line 2: expected a name in column 2, got nothing"),
        ("u,v,a\nu,v, \n", ", line 2: expected a name in column 3, got nothing"),
        ("#ACTORS\nu\n#VERTICES\nu,\n", ", line 4: expected a name in column 2, got nothing"),
        (HEAD + "#EDGES\n\nu,v,a\nu,v,c\n", ", line 7: expected a layer that #LAYERS lists, got 'c'"),
        (HEAD + "#VERTICES\nu,c\n", ", line 5: expected a layer that #LAYERS lists, got 'c'"),
        (HEAD + "#EDGES\nu,v,a,1\n", ", line 5: expected 3 columns, got 4: 'u,v,a,1'"),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1\n",
            ", line 8: expected 3 columns in layer 'b', got 4",
        ),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1,2\n",
            ", line 8: expected 3 or 4 columns, got 5: 'u,v,b,1,2'",
        ),
        (
            HEAD + "#EDGE ATTRIBUTES\na,time,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b\n",
            ", line 8: expected every layer to have the attribute that is its time, got one that has not",
        ),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,x\n", ", line 4: expected a number as weight, got 'x'"),
        (
            "#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,1\n-- no\nu,v,a,nan\n",
            ", line 6: expected a finite weight of at least 0, got nan",
        ),
        (
            "#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,-2\n",
            ", line 4: expected a finite weight of at least 0, got -2.0",
        ),
        ("#EDGE ATTRIBUTES\nweight\n", ", line 2: expected [layer,]attribute,type with a type of NUMERIC"),
        ("#EDGE ATTRIBUTES\nweight,NUMBER\n", ", line 2: expected [layer,]attribute,type with a type of NUMERIC"),
        ("#VERTEX ATTRIBUTES\nage,NUMERIC\n", ", line 2: expected layer,attribute,type with a type of NUMERIC"),
        ("#ACTOR ATTRIBUTES\nage,NUMERIC\nage,STRING\n", ", line 3: expected every attribute once, got 'age' again"),
        ("#ACTOR ATTRIBUTES\nage,NUMERIC\n#ACTORS\nu\n", ", line 4: expected 2 columns, got 1: 'u'"),
        ("#ACTORS\nu\nv\nu\n", ", line 4: expected every actor once, got 'u' again"),
        ("#ACTOR ATTRIBUTES\nfeature_0,NUMERIC\n#ACTORS\nu,old\n", ", line 4: expected a number, got 'old'"),
        ("#ACTOR ATTRIBUTES\nfeature_0,NUMERIC\n#ACTORS\nu,inf\n", ", line 4: expected a finite number, got inf"),
        ("#LAYERS\na\n", ", line 2: expected layer,DIRECTED or UNDIRECTED[,LOOPS], got 'a'"),
        ("#LAYERS\na,ARROWS\n", ", line 2: expected layer,DIRECTED or UNDIRECTED[,LOOPS], got 'a,ARROWS'"),
        ("#LAYERS\na,DIRECTED\na,DIRECTED\n", ", line 3: expected every layer once, got 'a' again"),
        ("#TYPE\nmultigraph\n", ", line 2: expected the type multiplex or multilayer, got 'multigraph'"),
        ("#TYPE multigraph\n", ", line 1: expected the type multiplex or multilayer, got 'multigraph'"),
        ("#VERSION\n4.0\n", ", line 2: expected a version up to 3.0, got '4.0'"),
        ("\n#EGDES\n", ", line 2: expected a section, one of VERSION, TYPE,"),
        (
            "#TYPE\nmultilayer\n#EDGES\nu,a,v,a\nu,a,v,b\n",
            ", line 5: expected an edge inside one layer, got one from 'a' to 'b'",
        ),
        (
            "#INTERLAYER EDGES\nu,a,v,b\n",
            ", line 2: expected edges inside layers only, got one between layers: 'u,a,v,b'",
        ),
        (b"#EDGES\nu,v,\xff\n", ", line 2: expected UTF-8 text, got byte 0xff"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = lay_out(tmp_path, {"net.mpx": text}) / "net.mpx"
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


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
