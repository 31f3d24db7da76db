"""Node types in files that others have written."""

import json

import banditplex as bx
from banditplex.io import folder
from tests.io.checks import lay_out, refuses_file
from tests.refusals import refuses


def test_an_actor_attribute_of_multinet(tmp_path):
    text = "#ACTOR ATTRIBUTES\nage,NUMERIC\nrole,STRING\n#ACTORS\nann,30,user\ntea,1,item\n#EDGES\nann,tea,buys\n"
    path = lay_out(tmp_path, {"shop.mpx": text}) / "shop.mpx"
    assert bx.read(path).node_types is None
    assert bx.read(path, types="role").node_types.tolist() == ["user", "item"]
    with refuses_file(path, "age, role", "'kind'"):
        bx.read(path, types="kind")
    bare = lay_out(tmp_path, {"bare.mpx": text.replace("#EDGES", "#VERTICES\ntea,buys\njam,buys\n#EDGES")}) / "bare.mpx"
    with refuses_file(bare, "'jam'"):
        bx.read(bare, types="role")


def test_a_node_attribute_of_gml(tmp_path):
    text = 'graph [\n node [ id 1 label "ann" kind 7 ]\n node [ id 2 label "tea" kind "item" ]\n'
    path = lay_out(tmp_path, {"shop.gml": text + " edge [ source 1 target 2 ]\n]\n"}) / "shop.gml"
    mx = bx.read(path, types="kind")
    assert mx.node_types.tolist() == ["7", "item"]
    assert bx.read(path).node_types is None
    with refuses_file(path, "'role'", "'ann'"):
        bx.read(path, types="role")


def test_a_column_of_a_muxviz_layout(tmp_path):
    layout = 'nodeID nodeLabel nodeType nodeRole\n1 ann user "a b"\n2 tea item c\n'
    config = "buys.edges;buys;layout.txt\n"
    path = lay_out(tmp_path, {"layout.txt": layout, "buys.edges": "1 2\n", "config.txt": config}) / "config.txt"
    assert bx.read(path).node_types.tolist() == ["user", "item"]
    assert bx.read(path, types="nodeRole").node_types.tolist() == ["a b", "c"]
    with refuses_file(path, "nodeKind", "'ann'"):
        bx.read(path, types="nodeKind")


def test_a_column_of_the_node_file_of_comune(tmp_path):
    files = {"net.edges": "1 1 2 1\n", "net_nodes.txt": "nodeID nodeLabel nodeType\n1 ann user\n2 tea item\n"}
    path = lay_out(tmp_path, files) / "net.edges"
    assert bx.read(path, types="nodeType").node_types.tolist() == ["user", "item"]
    assert bx.read(path).node_types is None
    with refuses_file(tmp_path / "net_nodes.txt", "'nodeKind'", line=1):
        bx.read(path, types="nodeKind")
    lone = lay_out(tmp_path, {"lone.edges": "1 1 2 1\n"}) / "lone.edges"
    with refuses_file(lone, "types", "lone_nodes.txt"):
        bx.read(lone, types="nodeType")


def test_types_that_a_format_cannot_store_are_refused(tmp_path):
    for name, kind in (("a.graphml", "a\x01"), ("a.mpx", "a,b")):
        mx = bx.Multiplex.from_edges([0], [1], "a", node_types=["b", kind])
        with refuses("type", repr(kind)):
            bx.write(mx, tmp_path / name)


def test_a_folder_with_a_wrong_type_index_is_refused(tmp_path):
    """The checksum finds what changed in small folders; in large ones, the range is checked."""
    mx = bx.Multiplex.from_edges([0], [1], "a", node_types=["x", "y"])
    bx.write(mx, tmp_path / "net.bx")
    header = folder._read_header(tmp_path / "net.bx" / folder.HEADER)
    assert (header["version"], header["type_names"]) == (2, ["x", "y"])
    (tmp_path / "net.bx" / folder.HEADER).unlink()
    header["type_names"] = ["x"]
    header["sha256"] = folder._header_digest(header)
    lay_out(tmp_path / "net.bx", {folder.HEADER: json.dumps(header)})
    with refuses_file(tmp_path / "net.bx" / "node_type_index.npy", "1 types", "got 1"):
        bx.read(tmp_path / "net.bx", verify=False)
