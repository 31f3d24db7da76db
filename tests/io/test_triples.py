"""Triples: files and folders, their parts, and what is refused."""

import pytest

from banditplex.io import detect, read
from banditplex.io.triples import read_triple_splits
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses

FILES = {
    "train.txt": "ann\tparent\tbob\nbob\tparent of a\tcid\n",
    "valid.txt": "cid\tknows\tann\r\n",
    "test.txt": "cid\tparent\tdan\n",
}


def test_a_folder_and_its_parts(tmp_path):
    assert detect(lay_out(tmp_path, FILES)).name == "triples"
    whole = read(tmp_path)
    assert whole.directed
    assert edges_by_name(whole) == [
        ("knows", "cid", "ann", 1.0, None),
        ("parent", "ann", "bob", 1.0, None),
        ("parent", "cid", "dan", 1.0, None),
        ("parent of a", "bob", "cid", 1.0, None),
    ]
    valid = read(tmp_path, part="valid")
    assert edges_by_name(valid) == [("knows", "cid", "ann", 1.0, None)]
    assert valid.node_names.tolist() == whole.node_names.tolist() == ["ann", "bob", "cid", "dan"]
    assert valid.layer_names == whole.layer_names
    assert not read(tmp_path, directed=False).directed


def test_the_published_split(tmp_path):
    splits = read_triple_splits(lay_out(tmp_path, FILES))
    assert splits.train == read(tmp_path, part="train")
    assert splits.valid.pairs.tolist() == [[2, 0]]
    assert splits.valid.layer.tolist() == [0]
    assert splits.test.pairs.tolist() == [[2, 3]]
    assert splits.test.label.tolist() == [True]


def test_a_file_by_its_content(tmp_path):
    lay_out(tmp_path, {"net.txt": FILES["train.txt"], "net.tsv": FILES["train.txt"]})
    assert detect(tmp_path / "net.txt").name == "triples"
    assert read(tmp_path / "net.txt").num_edges == 2
    assert read(tmp_path / "net.tsv", format="triples") == read(tmp_path / "net.txt")
    assert detect(lay_out(tmp_path / "gatne", {"train.txt": "1 2 3\n"})).name == "gatne"


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("a\tb\tc\na\tb\n", 2, ["3 columns", "got 2"]),
        ("a\tb\tc\n\tb\tc\n", 2, ["name", "empty"]),
        ("", None, ["head relation tail", "empty"]),
    ],
)
def test_what_is_refused(tmp_path, text, line, values):
    lay_out(tmp_path, {"net.triples": text})
    with refuses_file(tmp_path / "net.triples", *values, line=line):
        read(tmp_path / "net.triples")


def test_names_and_parts_that_cannot_be(tmp_path):
    lay_out(tmp_path, {"net.triples": "a\tb\tc\n"})
    with refuses("part", "'dev'"):
        read(tmp_path / "net.triples", part="dev")
    with refuses(tmp_path / "net.triples", "folder", "'train'"):
        read(tmp_path / "net.triples", part="train")
