"""Our own folder format: what goes in comes out, nothing is read before it is needed, damage is noticed."""

import hashlib
import json
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

import banditplex as bx
from banditplex.io import folder
from banditplex.io.base import side_note_path
from tests.io.checks import refuses_file
from tests.io.strategies import multiplexes, strings
from tests.refusals import refuses


@pytest.fixture
def mx():
    """Two layers over three nodes: a-b (2.5, time 7) and b-c (1, time 8) in "x", c-c (1, time 9) in "y"."""
    return bx.Multiplex.from_edges(
        ["a", "b", "ç"],
        ["b", "ç", "ç"],
        ["x", "x", "y"],
        weight=[2.5, 1, 1],
        time=[7, 8, 9],
        node_features=[[1.0], [2.0], [3.0]],
        metadata={"relevant": {"x": "y"}, "seed": np.int64(3)},
    )


@pytest.fixture
def stored(mx, tmp_path):
    bx.write(mx, tmp_path / "graph.bx")
    return tmp_path / "graph.bx"


@given(mx=multiplexes(metadata=True, types=strings))
def test_round_trip(mx, tmp_path):
    bx.write(mx, tmp_path / "graph.bx", overwrite=True)
    back = bx.read(tmp_path / "graph.bx")
    assert back == mx
    assert back.metadata == mx.metadata
    for column in ("node_names", "time", "node_features"):
        if getattr(mx, column) is not None:
            assert getattr(back, column).dtype == getattr(mx, column).dtype


def test_what_is_read_is_what_was_written(stored):
    back = bx.read(stored)
    assert back.edges("x").tolist() == [[0, 1], [1, 2]]
    assert back.edges("y").tolist() == [[2], [2]]
    assert back.weight.tolist() == [2.5, 1, 1]
    assert back.time.tolist() == [7, 8, 9]
    assert back.node_names.tolist() == ["a", "b", "ç"]
    assert back.metadata == {"relevant": {"x": "y"}, "seed": 3}


def test_the_arrays_are_plain_npy_files(stored):
    assert np.load(stored / "edge_index.npy").tolist() == [[0, 1, 2], [1, 2, 2]]
    assert bytes(np.load(stored / "node_name_bytes.npy")) == "abç".encode()
    assert np.load(stored / "node_name_offsets.npy").tolist() == [0, 1, 2, 4]


def test_arrays_are_maps_of_the_files(stored):
    back = bx.read(stored)
    for array in (back.edge_index, back.weight, back.time, back.node_features):
        assert not array.flags.writeable
        assert not array.flags.owndata
        base = array
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)


def test_everything_works_on_maps(mx, stored):
    back = bx.read(stored)
    assert back.summary().layers.equals(mx.summary().layers)
    assert back.subset(layers=["y"]) == mx.subset(layers=["y"])
    assert back.union() == mx.union()
    assert back.to_undirected() == mx.to_undirected()
    bx.write(back, stored.with_name("again.bx"))
    assert bx.read(stored.with_name("again.bx")) == mx


def test_directed_overrides_what_the_folder_says(tmp_path):
    arcs = bx.Multiplex.from_edges([0, 1, 1], [1, 0, 1], "a", directed=True)
    bx.write(arcs, tmp_path / "arcs.bx")
    assert bx.read(tmp_path / "arcs.bx").directed
    assert bx.read(tmp_path / "arcs.bx", directed=False) == bx.Multiplex.from_edges([0, 1], [1, 1], "a")
    assert bx.read(tmp_path / "arcs.bx", directed=True) == arcs


@pytest.mark.parametrize("name", ["edges.bx", "edges.parquet"])
def test_what_is_said_to_be_undirected_stands_both_ways(name, tmp_path):
    edges = bx.Multiplex.from_edges([0, 1, 2], [1, 2, 2], ["a", "a", "b"], weight=[2, 3, 4], time=[7, 8, 9])
    bx.write(edges, tmp_path / name)
    ends, layers = ([0, 1, 1, 2, 2], [1, 0, 2, 1, 2]), ["a", "a", "a", "a", "b"]
    both = bx.Multiplex.from_edges(*ends, layers, weight=[2, 2, 3, 3, 4], time=[7, 7, 8, 8, 9], directed=True)
    assert bx.read(tmp_path / name, directed=True) == both
    assert bx.read(tmp_path / name, directed=False) == edges


def test_opening_keeps_edges_on_disk(tmp_path):
    """A folder of 20 million edges made of holes, which take no room on disk: opening it takes little memory."""
    num_edges = 20_000_000
    bx.write(bx.Multiplex.from_edges([0], [1], "a"), tmp_path / "big.bx")
    header = read_header(tmp_path / "big.bx")
    for name, shape in {"edge_index": (2, num_edges), "layer_offsets": (2,)}.items():
        path = tmp_path / "big.bx" / f"{name}.npy"
        array = np.lib.format.open_memmap(path, mode="w+", dtype="<i8", shape=shape)
        if name == "layer_offsets":
            array[-1] = num_edges
        array.flush()
        header["arrays"][name] |= {"shape": list(shape), "bytes": path.stat().st_size}
    write_header(tmp_path / "big.bx", header | {"num_edges": num_edges})
    tracemalloc.start()
    with refuses_file(tmp_path / "big.bx/edge_index.npy", "layer 'a'", "[0, 0]", "edge 1"):
        bx.read(tmp_path / "big.bx", verify=False)  # the edge 0-0 comes again
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27


# Damage


def read_header(path):
    return json.loads((path / folder.HEADER).read_text())


def write_header(path, header):
    """Write a header with a checksum that fits."""
    header = {key: value for key, value in header.items() if key != "sha256"}
    header["sha256"] = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
    (path / folder.HEADER).write_text(json.dumps(header))


def flip_last_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_a_newer_version_is_refused_by_name(stored):
    write_header(stored, read_header(stored) | {"version": 7})
    with refuses_file(stored / folder.HEADER, "version 2", "got 7"):
        bx.read(stored)


@pytest.mark.parametrize(
    ("content", "line", "values"),
    [
        ('{"format": "banditplex",\n "version"', 2, ["JSON", "':'"]),
        ("[1]", None, ["header"]),
        ('{"format": "other"}', None, ["header"]),
        ('{"format": "banditplex", "version": "new"}', None, ["version", "'new'"]),
        ('{"format": "banditplex", "version": 1}', None, ["checksum"]),
        (b"\xff", None, ["UTF-8"]),
    ],
)
def test_a_broken_header_is_refused(stored, content, line, values):
    (stored / folder.HEADER).write_bytes(content if isinstance(content, bytes) else content.encode())
    with refuses_file(stored / folder.HEADER, *values, line=line):
        bx.read(stored)


def test_a_changed_header_is_refused(stored):
    (stored / folder.HEADER).write_text(
        (stored / folder.HEADER).read_text().replace('"directed": false', '"directed": true')
    )
    with refuses_file(stored / folder.HEADER, "checksum"):
        bx.read(stored)


def test_a_missing_header_is_refused(stored):
    (stored / folder.HEADER).unlink()
    with refuses_file(stored / folder.HEADER):
        bx.read(stored, format="banditplex")
    with refuses(stored, "format"):
        bx.read(stored)


def test_a_missing_array_is_refused(stored):
    (stored / "weight.npy").unlink()
    with refuses_file(stored / "weight.npy"):
        bx.read(stored)


def test_a_shortened_array_is_refused_without_reading_it(stored):
    content = (stored / "edge_index.npy").read_bytes()
    (stored / "edge_index.npy").write_bytes(content[:-8])
    with refuses_file(stored / "edge_index.npy", len(content), len(content) - 8):
        bx.read(stored, verify=False)


def remade(path, changes):
    """Put other arrays and entries of the header in the place of some, with sizes and checksums that fit."""
    header = read_header(path)
    for name, value in changes.items():
        if not isinstance(value, np.ndarray):
            header[name] = value
        elif name in header["arrays"]:
            np.save(path / f"{name}.npy", value)
            content = (path / f"{name}.npy").read_bytes()
            header["arrays"][name] = {
                "dtype": value.dtype.str, "shape": list(value.shape), "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }  # fmt: skip
    write_header(path, header)


CRAFTED = [  # (what is changed, the file that is named, what is said)
    ({"edge_index": np.array([[0, 1, 2], [1, 2, -7]])}, "edge_index.npy", ["from 0 to 2", "-7", "layer 'y'"]),
    ({"edge_index": np.array([[0, 1, 2], [1, 10**9, 2]])}, "edge_index.npy", ["10" + "0" * 8, "layer 'x'"]),
    ({"edge_index": np.array([[0.0, 1, 2], [1, 2, 2]])}, "edge_index.npy", ["int64", "float64"]),
    ({"edge_index": np.array([[1, 0, 2], [2, 1, 2]])}, "edge_index.npy", ["order", [0, 1]]),
    ({"edge_index": np.array([[0, 0, 2], [1, 1, 2]])}, "edge_index.npy", ["once", [0, 1]]),
    ({"edge_index": np.array([[1, 1, 2], [0, 2, 2]])}, "edge_index.npy", ["smaller", [1, 0]]),
    ({"edge_index": np.array([[0, 1], [1, 2]])}, "weight.npy", ["(2,)", "(3,)"]),
    ({"edge_index": np.array([0, 1, 2])}, "edge_index.npy", ["(2, 3)", "(3,)"]),
    ({"weight": np.array([1.0, np.nan, 1])}, "weight.npy", ["nan", "layer 'x'"]),
    ({"weight": np.array([1.0, 1, -1])}, "weight.npy", ["-1", "layer 'y'"]),
    ({"time": np.array([7.0, np.inf, 9])}, "time.npy", ["inf"]),
    ({"node_features": np.array([[1.0], [np.nan], [3.0]])}, "node_features.npy", ["nan", "node 1"]),
    ({"node_features": np.ones((2, 1))}, "node_features.npy", ["(3, F)", "(2, 1)"]),
    ({"layer_offsets": np.array([0, 2])}, "layer_offsets.npy", ["(3,)", "(2,)"]),
    ({"node_name_bytes": np.frombuffer("aaç".encode(), np.uint8)}, "node_names.npy", ["distinct"]),
    ({"node_name_offsets": np.array([], np.int64)}, "node_name_offsets.npy", ["from 0"]),
    ({"node_name_offsets": np.array([0.0, 1, 2, 4])}, "node_name_offsets.npy", ["<i8", "<f8"]),
    ({"layer_names": ["x", "x"]}, folder.HEADER, ["distinct", "'x'"]),
    ({"layer_names": ["x", 2]}, folder.HEADER, ["layer_names"]),
    ({"layer_names": 5}, folder.HEADER, ["layer_names", 5]),
    ({"num_nodes": 10**9}, folder.HEADER, ["num_nodes", 3, 10**9]),
    ({"num_edges": 4}, folder.HEADER, ["num_edges", 3, 4]),
    ({"directed": "maybe"}, folder.HEADER, ["directed", "'maybe'"]),
    ({"metadata": []}, folder.HEADER, ["metadata"]),
    ({"arrays": {}}, "node_name_offsets.npy", ["none"]),
    ({"arrays": 5}, folder.HEADER, ["arrays"]),
    ({"arrays": {"weight": {"bytes": -1}}}, folder.HEADER, ["arrays.weight"]),
    ({"type_names": ["p"]}, "node_type_index.npy", ["none"]),
    ({"colour": 1}, folder.HEADER, ["'colour'"]),
]


@pytest.mark.parametrize(("changes", "file", "values"), CRAFTED)
def test_a_crafted_folder_is_refused_on_opening(stored, changes, file, values):
    remade(stored, changes)
    with refuses_file(stored / file, *values):
        bx.read(stored)


@given(mx=multiplexes())
def test_edges_in_their_order_pass_in_chunks_of_any_size(mx, tmp_path):
    bx.write(mx, tmp_path / "graph.bx", overwrite=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditplex.multiplex.stored.CHECKED_AT_ONCE", 2)
        assert bx.read(tmp_path / "graph.bx") == mx


def test_changed_content_is_refused(stored):
    flip_last_byte(stored / "time.npy")
    expected = read_header(stored)["arrays"]["time"]["sha256"]
    found = hashlib.sha256((stored / "time.npy").read_bytes()).hexdigest()
    with refuses_file(stored / "time.npy", expected, found):
        bx.read(stored)
    assert bx.read(stored, verify=False).num_edges == 3


def test_large_folders_are_verified_only_on_request(stored, monkeypatch):
    flip_last_byte(stored / "time.npy")
    monkeypatch.setattr(folder, "SMALL", 10)
    assert bx.read(stored).num_edges == 3
    with refuses_file(stored / "time.npy", "SHA-256"):
        bx.read(stored, verify=True)


def replace_array(path, name, array):
    """Put another array in the place of one, with size and checksum that fit."""
    np.save(path / f"{name}.npy", array)
    header, content = read_header(path), (path / f"{name}.npy").read_bytes()
    header["arrays"][name] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    write_header(path, header)


@pytest.mark.parametrize(
    ("name", "array", "file", "values"),
    [
        ("weight", np.ones(3, np.float32), "weight", ["<f8", "<f4"]),
        ("weight", np.ones((3, 1)), "weight", ["[3]", "[3, 1]"]),
        ("layer_offsets", np.array([0, 4, 3]), "layer_offsets", ["from 0 to 3"]),
        ("node_name_offsets", np.array([0, 1, 3, 4]), "node_name_bytes", ["UTF-8"]),
        ("node_name_offsets", np.array([0, 2, 1, 4]), "node_name_bytes", ["UTF-8"]),
        ("node_name_offsets", np.array([0, 1, 2, 9]), "node_name_bytes", ["UTF-8"]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(stored, name, array, file, values):
    replace_array(stored, name, array)
    with refuses_file(stored / f"{file}.npy", *values):
        bx.read(stored)


def test_pickled_objects_are_not_loaded(stored):
    content = pickle.dumps({"not": "an array"})
    (stored / "weight.npy").write_bytes(content)
    header = read_header(stored)
    header["arrays"]["weight"]["bytes"] = len(content)
    write_header(stored, header)
    with refuses_file(stored / "weight.npy", ".npy"):
        bx.read(stored)


@pytest.mark.parametrize(
    ("metadata", "values"),
    [({"a": {3: "x"}}, ["metadata['a']", "got 3"]), ({"a": [1, {2}]}, ["metadata['a'][1]", "got set"])],
)
def test_metadata_that_json_would_change_is_refused(mx, tmp_path, metadata, values):
    with refuses(*values):
        bx.write(mx.with_metadata(**metadata), tmp_path / "graph.bx")
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text_are_refused(tmp_path):
    mx = bx.Multiplex.from_edges(["\ud800"], ["b"], "a")
    with refuses(tmp_path / "graph.bx", r"'\ud800'", "UTF-8"):
        bx.write(mx, tmp_path / "graph.bx")


def test_unknown_options_are_refused(mx, stored):
    with refuses("banditplex", "verfy=", "directed, verify"):
        bx.read(stored, verfy=True)
    with refuses("banditplex", "fast=", "none"):
        bx.write(mx, stored, overwrite=True, fast=True)


# Through `read` and `write`


def test_an_existing_folder_is_replaced_only_on_request(mx, stored):
    with refuses(stored, "overwrite=True"):
        bx.write(mx, stored)
    bx.write(mx.subset(layers=["y"]), stored, overwrite=True)
    assert bx.read(stored) == mx.subset(layers=["y"])
    assert [each.name for each in stored.parent.iterdir()] == ["graph.bx"]


def test_a_side_note_of_an_earlier_file_does_not_survive(mx, tmp_path):
    note = side_note_path(tmp_path / "graph.bx")
    note.write_text("{}")
    with refuses(note, "overwrite=True"):
        bx.write(mx, tmp_path / "graph.bx")
    bx.write(mx, tmp_path / "graph.bx", overwrite=True)
    assert not note.exists()


def test_progress_is_told_of_every_byte(stored):
    seen = []
    bx.read(stored, progress=lambda done, total: seen.append((done, total)))
    total = sum(each.stat().st_size for each in stored.glob("*.npy"))
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


def test_metadata_that_could_not_be_read_again_are_not_written(mx, tmp_path):
    """Reading refuses more than 32 levels of nesting."""
    deep = []
    for _ in range(40):
        deep = [deep]
    with refuses("metadata", 32):
        bx.write(mx.with_metadata(x=deep), tmp_path / "net.bx")
    assert list(tmp_path.iterdir()) == []
