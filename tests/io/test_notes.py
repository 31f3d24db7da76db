"""Notes are JSON that anybody may have written: side notes, and metadata of Parquet."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import banditplex as bx
from banditplex.errors import FormatError

DEEP = "[" * 200_000
NOTES = {  # from a note to a word of its refusal
    '{"nodes": 7}': "nodes",
    '{"nodes": {"a": 1}}': "nodes",
    '{"nodes": ["a", 1]}': "nodes",
    '{"nodes": ["a", "a", "b"]}': "distinct",
    '{"nodes": [1.5]}': "nodes",
    '{"nodes": [true]}': "nodes",
    '{"nodes": [18446744073709551616]}': "nodes",
    '{"nodes": ["\\ud800"]}': "UTF-8",
    '{"layers": 5}': "layers",
    '{"layers": null}': "layers",
    '{"directed": "maybe"}': "directed",
    '{"directed": 1}': "directed",
    '{"colour": 1}': "colour",
    f'{{"nodes": {DEEP}}}': "levels",
    f'{{"nodes": {"[" * 500 + "]" * 500}}}': "nodes|nested",
    '{"nodes": [' + "1" * 5000 + "]}": "digits",
}


def refused(path, *words):
    """Expect a FormatError of one line about a file, with one of some words, soon."""
    begin = time.perf_counter()
    with pytest.raises(FormatError) as error:
        bx.read(path)
    assert time.perf_counter() - begin < 10
    assert str(error.value).startswith(str(path))
    assert any(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("note", NOTES)
def test_side_notes(note, tmp_path):
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    (tmp_path / "net.csv.meta.json").write_text('{"banditplex": 1, ' + note[1:])
    refused(tmp_path / "net.csv", *NOTES[note].split("|"))


@pytest.mark.parametrize(("version", "word"), [("7", "7: a newer"), ('"1"', "version"), ("null", "None"), ("0", "0")])
def test_versions_of_side_notes(version, word, tmp_path):
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    (tmp_path / "net.csv.meta.json").write_text(f'{{"banditplex": {version}}}')
    refused(tmp_path / "net.csv", word)


PARQUET = {
    '{"nodes": {"first": 0, "count": 1000000000}}': "num_nodes=1000000000",
    '{"nodes": {"first": 0, "count": -1}}': "count",
    '{"nodes": {"first": 0}}': "count",
    '{"nodes": {"first": 9223372036854775807, "count": 2}}': "2**63",
    '{"types": {"names": ["x"], "index": [0, 1]}, "nodes": ["a", "b"]}': "types.index",
    '{"types": {"names": ["x"], "index": [0]}, "nodes": ["a", "b"]}': "2 nodes",
    '{"types": 5}': "types",
    '{"version": 9}': "version 1 or older, got 9",
    '{"version": "new"}': "version",
    "[]": "an object",
    "{": "JSON",
}


@pytest.mark.parametrize("note", [*NOTES, *PARQUET])
def test_parquet_notes(note, tmp_path):
    table = pa.table({"source": ["a"], "target": ["b"], "layer": ["x"]})
    pq.write_table(table.replace_schema_metadata({"banditplex": note}), tmp_path / "net.parquet")
    refused(tmp_path / "net.parquet", *(NOTES | PARQUET)[note].split("|"))


@pytest.mark.slow
def test_a_range_of_nodes_is_written_so_that_it_can_be_read(tmp_path):
    """Two edges and over a million nodes: the names are listed, as a range would be refused."""
    mx = bx.Multiplex.from_edges([0, 1], [1, 2], "a", num_nodes=(1 << 20) + 1)
    bx.write(mx, tmp_path / "net.parquet")
    note = json.loads(pq.read_schema(tmp_path / "net.parquet").metadata[b"banditplex"])
    assert isinstance(note["nodes"], list)
    assert bx.read(tmp_path / "net.parquet").num_nodes == (1 << 20) + 1
