"""GraphML as networkx, Gephi, yEd and others write it: what is read, and what is refused in one line."""

import networkx as nx
import pytest

from banditplex.io import read
from banditplex.multiplex import Multiplex
from tests.io.checks import edges_by_name, lay_out, refuses_file

pytestmark = pytest.mark.filterwarnings("ignore:.*is read as the layer", "ignore:Parallel edges")


def test_what_networkx_writes_of_a_multiplex_is_read(tmp_path):
    mx = Multiplex.from_edges(
        ["ann", "ann", "bob"], ["bob", "bob", "cid"], ["work", "home", "home"], weight=[0.5, 1, 2], time=[3, 4, 5],
        directed=True, node_types=["user", "user", "item"],
    )  # fmt: skip
    graph = mx.to_networkx()
    del graph.graph["layers"]  # a list, which GraphML cannot hold
    nx.write_graphml(graph, tmp_path / "net.graphml")
    assert read(tmp_path / "net.graphml", types="node_type") == mx


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


def test_files_of_others(tmp_path):
    path = lay_out(tmp_path, {"net.graphml": GRAPHML}) / "net.graphml"
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
    other = lay_out(tmp_path, {"net.graphml": GRAPHML.replace('"type"', '"topic"')}) / "net.graphml"
    assert edges_by_name(read(other)) == [("edges", "n0", "n1", 1.5, None), ("edges", "n1", "n1", 2.0, None)]


def test_options_that_no_attribute_answers(tmp_path):
    path = lay_out(tmp_path, {"net.graphml": GRAPHML}) / "net.graphml"
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


def test_graphml_in_another_encoding(tmp_path):
    text = GRAPHML.replace("UTF-8", "UTF-16").replace("n0", "é")
    path = lay_out(tmp_path, {"net.graphml": text.encode("utf-16")}) / "net.graphml"
    assert read(path).node_names.tolist() == ["é", "n1", "n2"]


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("", 1, ["GraphML", "column 0"]),
        (GRAPHML.split("<edge")[0] + "<edge", 11, ["GraphML", "column 4"]),
        (GRAPHML.replace("</node>", "</edge>", 1), 8, ["GraphML"]),
        ("<html/>", None, ["GraphML"]),
        (GRAPHML.replace(">0.5<", ">heavy<"), None, ["'heavy'"]),
        (GRAPHML.replace(">0.5<", ">nan<"), None, ["weight", "nan", "'n0' to 'n1'"]),
        (GRAPHML.replace('target="n0"', 'target="n9"'), None, ["'n9'"]),
        (
            GRAPHML.replace('<edge source="n0"', '<edge directed="true" source="n0"'),
            *(None, ["GraphML", "directed=true"]),
        ),
        (
            GRAPHML.replace('name="type"', 'name="layer"').replace('<data key="t">work</data>', ""),
            *(None, ["'layer'", "'n0' to 'n1'"]),
        ),
        (GRAPHML.encode().replace(b"Ann", b"\xff"), 8, ["GraphML"]),
    ],
)
def test_bad_files(tmp_path, text, line, values):
    path = lay_out(tmp_path, {"net.graphml": text}) / "net.graphml"
    with refuses_file(path, *values, line=line):
        read(path)


def graphml(inside, before="", after="", kind="undirected", head='xmlns="http://graphml.graphdrawing.org/xmlns"'):
    keys = """<key id="t" for="edge" attr.name="type" attr.type="string"/>
    <key id="b" attr.name="on" attr.type="boolean"/>
    <key id="n" attr.name="size" attr.type="long"><default>3</default></key><key id="y" yfiles.type="nodegraphics"/>"""
    return f'<graphml {head}>{before or keys}<graph edgedefault="{kind}">{inside}</graph>{after or keys}</graphml>'


NODES = '<node id="a"/><node id="b"/><node id="c"/>'
EDGES = (
    '<edge source="a" target="b"><data key="t">x</data></edge><edge source="b" target="c"><data key="t">y</data></edge>'
)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        (graphml(NODES + EDGES, before="<desc/>"), ["x a b", "y b c"]),  # keys come after the graph
        (graphml(EDGES + '<node id="c"/><node id="a"/><node id="b"/>'), ["x a b", "y c b"]),  # node c is first
        (graphml(EDGES), ["x a b", "y b c"]),  # no node is declared
        (graphml(NODES + EDGES, after='<graph edgedefault="directed"><node id="never"/></graph>'), ["x a b", "y b c"]),
        (graphml(NODES + "<!-- <edge/> -->" + EDGES.replace("</edge>", "<port/></edge>", 1)), ["x a b", "y b c"]),
        (
            graphml('<node id="g" yfiles.foldertype="group"><graph><node id="a"/></graph></node>'
            f'<node id="b"/><node id="c"/>{EDGES}'), ["x a b", "y b c"],
        ),  # a group of yEd
    ],
)  # fmt: skip
def test_graphml_of_others(tmp_path, text, edges):
    mx = read(lay_out(tmp_path, {"net.graphml": text}) / "net.graphml", layer="type")
    assert [" ".join(edge[:3]) for edge in edges_by_name(mx)] == edges


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (graphml("<hyperedge/>"), "hyperedges"),
        (graphml('<node id="a"><data key="q">1</data></node>'), "no key q"),
        (graphml(NODES, before='<key id="k" attr.type="odd" attr.name="z"/>'), "odd"),
        (graphml('<node id="a"><data key="b">maybe</data></node>'), "'maybe'"),
    ],
)
def test_what_cannot_be(tmp_path, text, value):
    path = lay_out(tmp_path, {"net.graphml": text}) / "net.graphml"
    with refuses_file(path, value):
        read(path)


def test_names_and_types_of_nodes(tmp_path):
    path = lay_out(tmp_path, {"net.graphml": GRAPHML}) / "net.graphml"
    with refuses_file(path, "node #2", "'name'"):
        read(path, names="name")
    assert read(path, names="age").node_names.tolist() == [30, 40, 50]
    assert read(path, types="age").node_types.tolist() == ["30", "40", "50"]
    assert read(path).node_types is None
    with refuses_file(path, "'name'", "'n2'"):
        read(path, types="name")


def test_progress_is_told(tmp_path):
    path, calls = lay_out(tmp_path, {"net.graphml": GRAPHML}) / "net.graphml", []
    read(path, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(len(GRAPHML), len(GRAPHML))]
