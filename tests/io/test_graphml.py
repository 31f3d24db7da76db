"""GraphML and GML: the same multiplex, the same options, two ways to write it down."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from tests.io.checks import comes_back, edges_by_name, lay_out, refuses_file
from tests.io.strategies import multiplexes, strings
from tests.refusals import refuses

XML = strings.filter(lambda name: not set(name) & set("\t\ufffe\uffff"))


@given(multiplexes(names=XML, types=XML))
def test_graphml_round_trip(mx):
    assert comes_back(mx, "net.graphml", None)


@given(multiplexes(types=strings))
def test_gml_round_trip(mx):
    assert comes_back(mx, "net.gml", None)


@pytest.mark.parametrize("name", ["a\tb", "a\x00b", "a\nb", "\uffff"])
def test_names_that_xml_cannot_hold_are_refused(tmp_path, name):
    for mx in (Multiplex.from_edges([name], ["v"], ["l"]), Multiplex.from_edges(["u"], ["v"], [name])):
        with refuses("name", repr(name)):
            write(mx, tmp_path / "net.graphml")
        assert comes_back(mx, "net.gml", None)


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_features_without_columns_and_no_edges_at_all(ending):
    nothing = {"source": [], "destination": [], "layer": []}
    features = np.empty((2, 0))
    assert comes_back(Multiplex.from_edges(**nothing, num_nodes=2, node_features=features), f"net.{ending}", None)
    assert comes_back(Multiplex.from_edges(**nothing, layer_names=["a"], directed=True), f"net.{ending}", None)


@pytest.mark.parametrize(("ending", "reader"), [("graphml", nx.read_graphml), ("gml", nx.read_gml)])
def test_as_networkx_sees_it(tmp_path, ending, reader):
    mx = Multiplex.from_edges(
        ["ann", "ann", "bob"], ["bob", "bob", "cid"], ["work", "home", "home"], weight=[0.5, 1, 2], time=[3, 4, 5],
        node_features=np.array([[1.5], [2.5], [3.5]]), directed=True,
    )  # fmt: skip
    write(mx, tmp_path / f"net.{ending}")
    graph = reader(tmp_path / f"net.{ending}")
    assert graph.is_directed()
    assert dict(graph.nodes(data="feature_0")) == {"ann": 1.5, "bob": 2.5, "cid": 3.5}
    edges = {(u, v, data["layer"], data["weight"], data["time"]) for u, v, data in graph.edges(data=True)}
    assert edges == {("ann", "bob", "work", 0.5, 3), ("ann", "bob", "home", 1.0, 4), ("bob", "cid", "home", 2.0, 5)}


GRAPHML = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="n" for="node" attr.name="name" attr.type="string"/>
  <key id="a" for="node" attr.name="age" attr.type="int"/>
  <key id="t" for="edge" attr.name="type" attr.type="string"/>
  <key id="w" for="edge" attr.name="weight" attr.type="double"/>
  <graph id="G" edgedefault="undirected">
    <node id="n0"><data key="n">Ann</data><data key="a">30</data></node>
    <node id="n1"><data key="n">Bob</data><data key="a">40</data></node>
    <node id="n2"><data key="a">50</data></node>
    <edge source="n0" target="n1"><data key="t">work</data><data key="w">0.5</data></edge>
    <edge source="n1" target="n0"><data key="t">home</data></edge>
    <edge source="n1" target="n1"><data key="t">home</data><data key="w">2</data></edge>
  </graph>
</graphml>
"""
GML = """\
Creator "by hand"
graph [
  node [ id 7 age 30 label "n0" ]
  node [
    id 8
    label "n1"
    age 40
  ]
  node [ id 9 label "n2" age 50 ]
  edge [ source 7 target 8 type "work" weight 0.5 ]
  edge [ source 8 target 7 type "home" ]
  edge [ source 8 target 8 type "home" weight 2 ]
]
"""
FOREIGN = [("net.graphml", GRAPHML), ("net.gml", GML)]
pytestmark = pytest.mark.filterwarnings("ignore:.*is read as the layer", "ignore:Parallel edges")


@pytest.mark.parametrize(("name", "text"), FOREIGN)
def test_files_of_others(tmp_path, name, text):
    path = lay_out(tmp_path, {name: text}) / name
    mx = read(path, layer="type", features=["age"])
    assert mx.node_names.tolist() == ["n0", "n1", "n2"]
    assert edges_by_name(mx) == [
        ("home", "n0", "n1", 1.0, None),
        ("home", "n1", "n1", 2.0, None),
        ("work", "n0", "n1", 0.5, None),
    ]
    assert mx.node_features.tolist() == [[30], [40], [50]]
    assert mx.metadata["node_attributes"]["age"] == {"n0": 30, "n1": 40, "n2": 50}
    assert read(path, layer="type", directed=True).num_edges == 5  # undirected edges stand both ways
    with pytest.warns(UserWarning, match="'type' is read as the layer"):
        assert read(path) == read(path, layer="type")
    other = lay_out(tmp_path, {name: text.replace("type", "topic")}) / name
    assert edges_by_name(read(other)) == [("edges", "n0", "n1", 1.5, None), ("edges", "n1", "n1", 2.0, None)]


@pytest.mark.parametrize(("name", "text"), FOREIGN)
def test_options_that_no_attribute_answers(tmp_path, name, text):
    path = lay_out(tmp_path, {name: text}) / name
    with refuses_file(path, "layer", "type, weight", "'kind'"):
        read(path, layer="kind")
    with refuses_file(path, "weight", "'mass'"):
        read(path, weight="mass")
    with refuses_file(path, "number", "'height'", "node 'n0'"):
        read(path, features=["height"])
    with refuses_file(path, "number", "'type'", "'n0' to 'n1'", "'work'"):
        read(path, weight="type")
    with refuses_file(path, "number", "'weight'", "'n1'", "got none"):
        read(path, time="weight")


def test_nodes_of_gml_by_id(tmp_path):
    path = lay_out(tmp_path, {"net.gml": GML, "bare.gml": GML.replace("label", "title")}) / "net.gml"
    assert read(path, names="id").node_names.tolist() == [7, 8, 9]
    assert read(tmp_path / "bare.gml").node_names.tolist() == [7, 8, 9]


def test_graphml_in_another_encoding(tmp_path):
    text = GRAPHML.replace("UTF-8", "UTF-16").replace("n0", "é")
    path = lay_out(tmp_path, {"net.graphml": text.encode("utf-16")}) / "net.graphml"
    assert read(path).node_names.tolist() == ["é", "n1", "n2"]


def test_gml_in_utf8(tmp_path):
    path = lay_out(tmp_path, {"net.gml": GML.replace('"n0"', '"é"')}) / "net.gml"
    assert read(path).node_names.tolist() == ["é", "n1", "n2"]


@pytest.mark.parametrize(
    ("name", "text", "line", "values"),
    [
        ("net.graphml", "", 1, ["GraphML", "column 0"]),
        ("net.graphml", GRAPHML.split("<edge")[0] + "<edge", 11, ["GraphML", "column 4"]),
        ("net.graphml", GRAPHML.replace("</node>", "</edge>", 1), 8, ["GraphML"]),
        ("net.graphml", "<html/>", None, ["GraphML"]),
        ("net.graphml", GRAPHML.replace(">0.5<", ">heavy<"), None, ["'heavy'"]),
        ("net.graphml", GRAPHML.replace(">0.5<", ">nan<"), None, ["weight", "nan", "'n0' to 'n1'"]),
        ("net.graphml", GRAPHML.replace('target="n0"', 'target="n9"'), None, ["'n9'"]),
        (
            "net.graphml",
            GRAPHML.replace('<edge source="n0"', '<edge directed="true" source="n0"'),
            *(None, ["GraphML", "directed=true"]),
        ),
        (
            "net.graphml",
            GRAPHML.replace('name="type"', 'name="layer"').replace('<data key="t">work</data>', ""),
            *(None, ["'layer'", "'n0' to 'n1'"]),
        ),
        ("net.graphml", GRAPHML.encode().replace(b"Ann", b"\xff"), 8, ["GraphML"]),
        ("net.gml", "", None, ["GML"]),
        ("net.gml", GML[:-3], 13, ["GML", "']'"]),
        ("net.gml", GML.replace("target 7", "target $"), 11, ["GML"]),
        ("net.gml", GML.replace("target 7", "target 6"), None, ["GML", "target 6"]),
        ("net.gml", GML.replace('"n1"', '"n0"'), None, ["distinct", "'n0'"]),
        ("net.gml", GML.replace("weight 0.5", "weight -0.5"), None, ["weight", "-0.5", "'n0'"]),
        ("net.gml", GML.replace("weight 0.5", 'weight "much"'), None, ["number", "'weight'", "'n0'", "'much'"]),
        ("net.gml", GML.encode().replace(b"by hand", b"\xff"), 1, ["UTF-8", "0xff"]),
        ("net.gml", GML.replace("graph [", 'graph [ banditplex "["', 1), None, ["JSON", "'banditplex'"]),
        (
            "net.gml",
            GML.replace("graph [", 'graph [ banditplex "{&#34;layers&#34;:[&#34;work&#34;]}"', 1).replace(
                "type", "layer"
            ),
            *(None, ["layers", "'home'"]),
        ),
    ],
)
def test_bad_files(tmp_path, name, text, line, values):
    path = lay_out(tmp_path, {name: text}) / name
    with refuses_file(path, *values, line=line):
        read(path)
