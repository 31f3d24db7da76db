"""GraphML and GML as other programs write them: what is read, and what is refused in one line."""

import networkx as nx
import pytest

from banditplex.io import read
from tests.io.checks import edges_by_name, lay_out, refuses_file


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


def gml(inside, before=""):
    return f"{before}\ngraph [\n{inside}\n]\n"


POINTS = 'node [ id 1 label "a" ]\nnode [ id 2 label "b" size 2.5 ]\n'
LINKS = 'edge [ source 1 target 2 type "work" ]\nedge [\n  source 2 target 2 type "home" ]\n'


@pytest.mark.parametrize(
    "text",
    [
        gml(POINTS + LINKS),
        gml(LINKS + POINTS + "multigraph 1"),
        gml("# a [ comment\n" + POINTS + LINKS, 'Creator "by ] hand"\n# graph [ ]'),
        gml('about "&#228; &nothing;"\n x [ y [ z 1 z 2 ] ] big +INF' + POINTS + LINKS),
    ],
)
def test_gml_of_others(tmp_path, text):
    mx = read(lay_out(tmp_path, {"net.gml": text}) / "net.gml", layer="type")
    assert edges_by_name(mx) == [("home", "b", "b", 1.0, None), ("work", "a", "b", 1.0, None)]


def test_parallel_edges_of_gml_are_read_unless_it_forbids_them(tmp_path):
    lay_out(tmp_path, {"net.gml": gml(POINTS + LINKS + LINKS.replace("work", "play"))})
    lay_out(tmp_path, {"simple.gml": gml("multigraph 0 " + POINTS + LINKS + LINKS)})
    assert read(tmp_path / "net.gml", layer="type").num_edges == 3
    with refuses_file(tmp_path / "simple.gml", "duplicated"):
        read(tmp_path / "simple.gml", layer="type")


def test_lists_of_networkx_come_back(tmp_path):
    graph = nx.MultiDiGraph(one=[1], two=[1, "b"], inside={"deep": {"er": 2}})
    graph.add_edge("u", "v", layer="a", list=[0.5, 1.5])
    graph.add_edge("v", "u", layer="b")
    nx.write_gml(graph, tmp_path / "net.gml")
    mx = read(tmp_path / "net.gml")
    assert mx.metadata == {"one": [1], "two": [1, "b"], "inside": {"deep": {"er": 2}}}
    assert edges_by_name(mx) == [("a", "u", "v", 1.0, None), ("b", "v", "u", 1.0, None)]


@pytest.mark.parametrize(
    ("name", "text", "line", "values"),
    [
        ("net.graphml", graphml("<hyperedge/>"), None, ["hyperedges"]),
        ("net.graphml", graphml('<node id="a"><data key="q">1</data></node>'), None, ["no key q"]),
        ("net.graphml", graphml(NODES, before='<key id="k" attr.type="odd" attr.name="z"/>'), None, ["odd"]),
        ("net.graphml", graphml('<node id="a"><data key="b">maybe</data></node>'), None, ["'maybe'"]),
        ("net.gml", gml("node [ id 1 ] node [ id 1 ]"), None, ["1", "duplicated"]),
        ("net.gml", gml("node [ id 1 ] node [ ]"), None, ["node #1", "'id'"]),
        ("net.gml", gml(POINTS + "edge [ source 1 ]"), None, ["edge #0", "'target'"]),
        ("net.gml", gml(LINKS), None, ["edge #0", "source 1"]),
        ("net.gml", gml("") + gml(""), None, ["more than one graph"]),
        ("net.gml", gml("a [ " * 2000), None, ["recursion"]),
        ("net.gml", gml('a "never closed'), None, ["GML"]),
        ("net.gml", gml("a ]"), 3, ["']'", "string"]),
        ("net.gml", gml("") + "]", 5, ["']'"]),
        ("net.gml", gml("a " + "1" * 5000), None, ["digits"]),
        ("net.gml", 'graph [ node [ id 1 label [ a 1 ] ] ]', None, ["node #0", "'label'"]),
    ],
)  # fmt: skip
def test_what_cannot_be(tmp_path, name, text, line, values):
    path = lay_out(tmp_path, {name: text}) / name
    with refuses_file(path, *values, line=line):
        read(path, format=name.split(".")[1])


def test_gml_with_names_that_not_all_nodes_have(tmp_path):
    path = lay_out(tmp_path, {"net.gml": gml(POINTS)}) / "net.gml"
    with refuses_file(path, "node #0", "'size'"):
        read(path, names="size")
    assert read(path, names="label").node_names.tolist() == ["a", "b"]


@pytest.mark.parametrize(("name", "text"), [("net.gml", gml(POINTS)), ("net.graphml", graphml(NODES))])
def test_progress_is_told(tmp_path, name, text):
    path, calls = lay_out(tmp_path, {name: text}) / name, []
    read(path, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(text), len(text))
