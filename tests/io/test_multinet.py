import pytest

from banditplex.io import read
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses

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
        ("u,v,a\nu,v\n", 2, ["3 columns", "'u,v'"]),
        ("u,v,a\nu,,a\n", 2, ["name", "column 2"]),
        ("u,v,a\nu,v, \n", 2, ["name", "column 3"]),
        ("#ACTORS\nu\n#VERTICES\nu,\n", 4, ["an actor and a layer", "'u,'"]),
        (HEAD + "#EDGES\n\nu,v,a\nu,v,c\n", 7, ["#LAYERS", "'c'"]),
        (HEAD + "#VERTICES\nu,c\n", 5, ["#LAYERS", "'u,c'"]),
        (HEAD + "#EDGES\nu,v,a,1\n", 5, ["3 columns", "'u,v,a,1'"]),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1\n",
            *(8, ["3 columns", "'u,v,b,1'"]),
        ),
        (
            HEAD + "#EDGE ATTRIBUTES\na,weight,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b,1,2\n",
            *(8, ["3 columns", "'u,v,b,1,2'"]),
        ),
        (HEAD + "#EDGE ATTRIBUTES\na,time,NUMERIC\n#EDGES\nu,v,a,1\nu,v,b\n", 8, ["time", "none in 'b'"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,x\n", 4, ["number", "weight", "'x'"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,1\n-- no\nu,v,a,nan\n", 6, ["weight", "nan"]),
        ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\nu,v,a,-2\n", 4, ["weight", "-2.0"]),
        ("#EDGE ATTRIBUTES\nweight\n", 2, ["[layer,]attribute,type", "NUMERIC", "'weight'"]),
        ("#EDGE ATTRIBUTES\nweight,NUMBER\n", 2, ["[layer,]attribute,type", "NUMERIC", "'weight,NUMBER'"]),
        ("#ACTORS\nu\nv\nu\n", 4, ["actor", "'u'"]),
        ("#LAYERS\na\n", 2, ["DIRECTED", "UNDIRECTED", "'a'"]),
        ("#LAYERS\na,ARROWS\n", 2, ["DIRECTED", "UNDIRECTED", "'a,ARROWS'"]),
        ("#LAYERS\na,DIRECTED\na,DIRECTED\n", 3, ["layer", "'a'"]),
        ("#TYPE\nmultigraph\n", 2, ["multiplex", "multilayer", "'multigraph'"]),
        ("#TYPE multigraph\n", 1, ["multiplex", "multilayer", "'multigraph'"]),
        ("\n#EGDES\n", 2, ["EDGES", "#EGDES"]),
        ("#TYPE\nmultilayer\n#EDGES\nu,a,v,a\nu,a,v,b\n", 5, ["'a' to 'b'"]),
        ("#INTERLAYER EDGES\nu,a,v,b\n", 1, ["#INTERLAYER EDGES"]),
        (b"#EDGES\nu,v,\xff\n", 2, ["UTF-8", "0xff"]),
    ],
)
def test_bad_files(tmp_path, text, line, values):
    path = lay_out(tmp_path, {"net.mpx": text}) / "net.mpx"
    with refuses_file(path, *values, line=line):
        read(path)
