"""The readers of GraphML and GML beside those of networkx: the same nodes, edges and attributes, in less memory."""

import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from banditplex.io import read
from banditplex.io.gml import _Reader as GmlReader
from banditplex.io.gml import _tokens as tokens_of
from banditplex.io.graphml import _Reader as GraphmlReader
from tests.io.checks import edges_by_name, lay_out, refuses_file


def as_rows(nodes, edges, directed):
    """Return nodes in order, and edges in any order, with their attributes, to be compared."""
    ends = tuple if directed else frozenset
    listed = sorted((sorted(ends(pair)), sorted(values.items(), key=repr)) for pair, values in edges)
    return [(node, sorted(values.items(), key=repr)) for node, values in nodes], repr(listed)


def as_networkx_reads(path, reader):
    """Return what networkx reads."""
    with warnings.catch_warnings(action="ignore"):  # about ports
        graph = reader(path)
    edges = [((u, v), values) for u, v, values in graph.edges(data=True)]
    attributes = {name: value for name, value in graph.graph.items() if name not in ("node_default", "edge_default")}
    return graph.is_directed(), attributes, *as_rows(graph.nodes(data=True), edges, graph.is_directed())


def as_we_read(graph):
    """Return what our readers gather, in the same form."""
    nodes = [{} for _ in graph.nodes]
    edges = [((graph.nodes[u], graph.nodes[v]), {}) for u, v in zip(graph.source, graph.destination, strict=True)]
    for name in graph.node_values:
        for row, value in graph.node_values.items(name):
            nodes[row][name] = value
    for name in graph.edge_values:
        for row, value in graph.edge_values.items(name):
            edges[row][1][name] = value
    pairs = zip(graph.nodes, nodes, strict=True)
    return graph.directed, graph.attributes, *as_rows(pairs, edges, graph.directed)


def graphml(inside, before="", after="", kind="undirected", head='xmlns="http://graphml.graphdrawing.org/xmlns"'):
    keys = """<key id="t" for="edge" attr.name="type" attr.type="string"/>
    <key id="b" attr.name="on" attr.type="boolean"/>
    <key id="n" attr.name="size" attr.type="long"><default>3</default></key><key id="y" yfiles.type="nodegraphics"/>"""
    return f'<graphml {head}>{before or keys}<graph edgedefault="{kind}">{inside}</graph>{after or keys}</graphml>'


YED = """<data key="y" xmlns:y="http://www.yworks.com/xml/graphml"><y:{kind}><y:Geometry x="1.0" y="2.0"/>
<y:NodeLabel>name</y:NodeLabel><y:EdgeLabel>name</y:EdgeLabel><y:Shape type="circle"/></y:{kind}></data>"""
NODES = '<node id="a"/><node id="b"/><node id="c"/>'
EDGES = '<edge source="a" target="b"><data key="t">x</data></edge><edge source="b" target="a"/>'
EDGES += '<edge source="c" target="c"/>'
MANY_GRAPHML = {
    "keys after the graph": graphml(NODES + EDGES, before="<desc/>"),
    "edges before nodes": graphml(EDGES + '<node id="c"/><node id="a"/><node id="b"/>'),
    "nodes that only edges name": graphml(EDGES),
    "directed": graphml(NODES + EDGES, kind="directed"),
    "a node twice": graphml(
        '<node id="a"><data key="n">1</data><data key="t">u</data></node><node id="a"><data key="n">2</data></node>'
    ),
    "values of all types": graphml(
        '<data key="n">7</data><node id="a"><data key="b">True</data><data key="n">-5</data></node>'
        '<node id="b"><data key="b">0</data><data key="t"/></node>'
        '<node id="c"><data key="b">false</data></node><node id="d"><data key="b">1</data></node>'
    ),
    "repeated ids are one edge": graphml(
        NODES + '<edge id="1" source="a" target="b"><data key="n">1</data><data key="t">x</data></edge>'
        '<edge id="01" source="b" target="a"><data key="n">2</data></edge><edge id="1" source="a" target="c"/>'
        '<edge id="e" source="a" target="b"/><edge id="e" source="a" target="b"><data key="b">1</data></edge>'
    ),
    "repeated ids of a directed graph": graphml(
        NODES + '<edge id="1" source="a" target="b"/><edge id="1" source="b" target="a"/>', kind="directed"
    ),
    "a group of yEd": graphml(
        '<node id="g" yfiles.foldertype="group"><graph edgedefault="directed"><node id="a"/>'
        '<edge source="a" target="b"/><data key="n">9</data></graph><graph><node id="never"/></graph></node>'
        '<node id="b"/><edge source="b" target="g"/>'
    ),
    "a graph inside of a node": graphml(
        '<node id="g"><data key="n">1</data><graph><node id="never"/><edge source="never" target="g"/></graph></node>'
    ),
    "two graphs": graphml(NODES, after='<graph edgedefault="directed"><node id="never"/></graph>'),
    "shapes of yEd": graphml(
        f'<node id="a">{YED.format(kind="ShapeNode")}</node><node id="b">{YED.format(kind="GenericNode")}</node>'
        f'<edge source="a" target="b">{YED.format(kind="PolyLineEdge")}</edge>'
    ),
    "another prefix": graphml(NODES + EDGES, head='xmlns:g="http://graphml.graphdrawing.org/xmlns"')
    .replace("<", "<g:").replace("<g:/", "</g:"),
    "ports and comments": graphml(NODES + '<!-- <node id="never"/> --><edge source="a" target="b"><port/></edge>'),
}  # fmt: skip


@pytest.mark.parametrize("what", MANY_GRAPHML)
def test_graphml_as_networkx_reads_it(tmp_path, what):
    path = lay_out(tmp_path, {"net.graphml": MANY_GRAPHML[what]}) / "net.graphml"
    graph = GraphmlReader(path).read()
    graph.merge_repeated()
    assert as_we_read(graph) == as_networkx_reads(path, partial(nx.read_graphml, force_multigraph=True))


def gml(inside, before=""):
    return f"{before}\ngraph [\n{inside}\n]\n"


POINTS = 'node [ id 1 label "a" ]\nnode [ id 2 label "b" size 2.5 ]\n'
LINKS = "edge [ source 1 target 2 ]\nedge [\n  source 2 target 2 type home ]\n".replace("home", '"home"')
MANY_GML = {
    "plain": gml("multigraph 1\n" + POINTS + LINKS),
    "directed after the edges": gml(LINKS + POINTS + "directed 1 multigraph 1"),
    "comments": gml("multigraph 1 # a [ comment\n" + POINTS + LINKS, 'Creator "by ] hand"\n# graph [ ]'),
    "names of characters": gml('multigraph 1 about "&#228; &eacute; &#x41; &nothing; &amp; &#99999999999;"' + POINTS),
    "a string of several lines": gml('multigraph 1\n  about "first  \n   second\nthird"\n' + POINTS),
    "numbers": gml("multigraph 1 a -3 b +2.5e3 c .5 d 2. e +INF f -INF g INF h 1E5" + POINTS),
    "brackets": gml('multigraph 1 a [ b [ c 1 c 2 ] c "" ] x "[]" y "()" z "_networkx_list_start" z 5' + POINTS),
    "a single node": gml('multigraph 1 node [ id 0 label "a" x [ y 1 ] ] edge [ source 0 target 0 key "k" w 1 ]'),
    "labels without quotes": gml("multigraph 1 node [ id u label first ] node [ id v label 7 ]"),
    "ids of several types": gml('multigraph 1 node [ id "1" label "a" ] node [ id 1 label "b" ]'),
    "keys tell edges apart": gml(
        f"multigraph 1 {POINTS} edge [ source 1 target 2 key 0 ] edge [ source 2 target 1 key 1 ]"
    ),
    "no nodes": gml("multigraph 1 directed 0"),
    "no parallel edges": gml("multigraph 0" + POINTS + LINKS),
}  # fmt: skip


@pytest.mark.parametrize("what", MANY_GML)
def test_gml_as_networkx_reads_it(tmp_path, what):
    path = lay_out(tmp_path, {"net.gml": MANY_GML[what]}) / "net.gml"
    with path.open() as file:
        graph = GmlReader(tokens_of(file)).read(None)
    assert as_we_read(graph) == as_networkx_reads(path, nx.read_gml)


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
        ("net.graphml", graphml('<node id="a"><data key="q">1</data></node>'), None, ["'q'"]),
        ("net.graphml", graphml(NODES, before='<key id="k" attr.type="odd" attr.name="z"/>'), None, ["type 'odd'"]),
        ("net.graphml", graphml(NODES, before='<key id="k" attr.type="int"/>'), None, ["'k'", "attr.name"]),
        ("net.graphml", graphml('<node id="a"><data key="b">maybe</data></node>'), None, ["'maybe'"]),
        ("net.gml", gml("node [ id 1 ] node [ id 1 ]"), 3, ["node #1", "id"]),
        ("net.gml", gml("node [ id 1 ] node [ ]"), 3, ["node #1", "'id'"]),
        ("net.gml", gml("node [ id 1 id 2 ]"), 3, ["node #0", "'id'"]),
        ("net.gml", gml(POINTS + "edge [ source 1 ]"), 5, ["edge #0", "'target'"]),
        ("net.gml", gml(POINTS + "edge [ source 1 target 2 key [ a 1 ] ]"), 5, ["edge #0", "'key'"]),
        ("net.gml", gml("multigraph 0 " + POINTS + LINKS + LINKS), None, ["'a' to 'b'", "multigraph 1"]),
        ("net.gml", gml(POINTS + "edge [ source 1 target 2 key 5 ] edge [ source 2 target 1 key 5 ]"), None, ["twice"]),
        ("net.gml", gml(LINKS), None, ["edge #0", "source 1"]),
        ("net.gml", gml("") + gml(""), None, ["more than one graph"]),
        ("net.gml", "graph 5", 1, ["5", "'['"]),
        ("net.gml", gml("node 5"), 3, ["5", "'['"]),
        ("net.gml", gml("a [ " * 200), 3, ["100 levels"]),
        ("net.gml", gml('a "never closed'), 3, ["string"]),
        ("net.gml", gml("a ]"), 3, ["']'", "string"]),
        ("net.gml", gml("") + "]", 5, ["']'", "end"]),
        ("net.gml", gml("a " + "1" * 5000), 3, ["digits"]),
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


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_memory_of_a_large_file(tmp_path, ending):
    """Reading takes at most six times the size of the file; networkx took 24 and 34 times."""
    rng, num_edges = np.random.default_rng(0), 100_000
    edges = zip(*rng.integers(0, 10_000, (2, num_edges)).tolist(), rng.random(num_edges).tolist(), strict=True)
    if ending == "gml":
        text = gml(
            "".join(f'  node [\n    id {n}\n    label "{n}"\n  ]\n' for n in range(10_000))
            + "".join(
                f'  edge [\n    source {u}\n    target {v}\n    layer "a"\n    weight {w}\n  ]\n' for u, v, w in edges
            )
        )
    else:
        text = graphml(
            "".join(f'<node id="{n}"/>\n' for n in range(10_000))
            + "".join(
                f'<edge source="{u}" target="{v}"><data key="t">a</data><data key="w">{w}</data></edge>\n'
                for u, v, w in edges
            ),
            after='<key id="w" attr.name="weight" attr.type="double"/>',
        )
    (tmp_path / f"net.{ending}").write_text(text)
    size = (tmp_path / f"net.{ending}").stat().st_size
    code = (
        "import re, banditplex as bx, banditplex.io\n"
        "peak = lambda: int(re.search('VmHWM:[^0-9]*([0-9]+) kB', open('/proc/self/status').read())[1]) * 1024\n"
        f"bx.Multiplex.from_edges([0], [1], 'a')\nbx.write(bx.load_dataset('twins'), 'small.{ending}')\n"
        f"bx.read('small.{ending}')\nbefore = peak()\n"
        f"bx.read('net.{ending}', layer={'layer' if ending == 'gml' else 'type'!r})\nprint(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert 0 < int(done.stdout) < 6 * size, f"{int(done.stdout) / size:.1f} times"
