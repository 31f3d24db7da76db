"""Node types in files that others have written."""

import json

import banditplex as bx
from banditplex.io import folder
from tests.io.checks import lay_out, refuses_file


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
