"""Node types in files that others have written."""

import json

import banditplex as bx
from banditplex.io import folder
from tests.io.checks import lay_out, refuses_file
from tests.refusals import refuses


def test_a_node_attribute_of_gml(tmp_path):
    text = 'graph [\n node [ id 1 label "ann" kind 7 ]\n node [ id 2 label "tea" kind "item" ]\n'
    path = lay_out(tmp_path, {"shop.gml": text + " edge [ source 1 target 2 ]\n]\n"}) / "shop.gml"
    mx = bx.read(path, types="kind")
    assert mx.node_types.tolist() == ["7", "item"]
    assert bx.read(path).node_types is None
    with refuses_file(path, "'role'", "'ann'"):
        bx.read(path, types="role")


def test_types_that_a_format_cannot_store_are_refused(tmp_path):
    mx = bx.Multiplex.from_edges([0], [1], "a", node_types=["b", "a\x01"])
    with refuses("type", repr("a\x01")):
        bx.write(mx, tmp_path / "a.graphml")


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
