"""Triples: files and folders, their parts, and what is refused."""

import pytest

from banditplex.io import detect, read
from banditplex.io.triples import read_triple_splits
from banditplex.multiplex import Multiplex
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses

FILES = {
    "train.txt": "ann\tparent\tbob\nbob\tparent of a\tcid\n",
    "valid.txt": "cid\tknows\tann\r\n",
    "test.txt": "cid\tparent\tdan\n",
}


def test_a_folder_and_its_parts(tmp_path):
    assert detect(lay_out(tmp_path, FILES)).name == "triples"
    with pytest.warns(UserWarning, match=r"train.txt, valid.txt, test.txt are read together.* test triples"):
        whole = read(tmp_path)
    assert whole.directed
    assert edges_by_name(whole) == [
        ("knows", "cid", "ann", 1.0, None),
        ("parent", "ann", "bob", 1.0, None),
        ("parent", "cid", "dan", 1.0, None),
        ("parent of a", "bob", "cid", 1.0, None),
    ]
    assert read(tmp_path, part="all") == whole
    valid = read(tmp_path, part="valid")
    assert edges_by_name(valid) == [("knows", "cid", "ann", 1.0, None)]
    assert valid.node_names.tolist() == whole.node_names.tolist() == ["ann", "bob", "cid", "dan"]
    assert valid.layer_names == whole.layer_names
    assert not read(tmp_path, part="all", directed=False).directed


def test_the_published_split(tmp_path):
    splits = read_triple_splits(lay_out(tmp_path, FILES))
    assert splits.train == read(tmp_path, part="train")
    assert splits.valid.pairs.tolist() == [[2, 0]]
    assert splits.valid.layer.tolist() == [0]
    assert splits.test.pairs.tolist() == [[2, 3]]
    assert splits.test.label.tolist() == [True]


@pytest.mark.parametrize("ending", ["tsv", "triples"])
def test_a_split_in_files_with_headers_and_other_endings(tmp_path, ending):
    plain = lay_out(tmp_path / "plain", FILES)
    named = {name.replace("txt", ending): f"\nHead\tRelation\tTail\n{text}" for name, text in FILES.items()}
    folder = lay_out(tmp_path / "named", named)
    assert detect(folder).name == "triples"
    assert read(folder, part="all") == read(plain, part="all")
    found, expected = read_triple_splits(folder), read_triple_splits(plain)
    assert found.train == expected.train
    assert found.test.pairs.tolist() == expected.test.pairs.tolist()


def test_tables_in_a_folder_are_no_triples(tmp_path):
    for header in ("source\ttarget\tlayer", "target\tsource\tlayer", "head\ttail\tlayer"):
        folder = lay_out(tmp_path, {f"{name}.tsv": f"{header}\nann\tbob\tx\n" for name in ("train", "test")})
        assert detect(folder).name == "tables"


@pytest.mark.parametrize("header", ["head,relation,tail", "subject,predicate,object", "h,r,t", "T,ID,H,R"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_tables_whose_header_says_that_they_are_triples(tmp_path, header, ending):
    row = {"T,ID,H,R": "dan,1,cid,parent"}.get(header, "cid,parent,dan")
    other = {"T,ID,H,R": "cid,2,dan,parent"}.get(header, "dan,parent,cid")
    text = f"{header}\n{row}\n{other}\n"
    path = lay_out(tmp_path, {f"net.{ending}": text if ending == "csv" else text.replace(",", "\t")}) / f"net.{ending}"
    with pytest.warns(UserWarning, match="net") as told:
        mx = read(path)
    assert "directed=False" in str(told[-1].message)
    assert edges_by_name(mx) == [("parent", "cid", "dan", 1.0, None), ("parent", "dan", "cid", 1.0, None)]
    assert mx.directed


@pytest.mark.filterwarnings("error")
def test_heads_and_tails_need_no_relation(tmp_path):
    """As source and target do, they count by name in any order, and say nothing of two kinds of nodes."""
    path = lay_out(tmp_path, {"net.csv": "tail,head,layer\nbob,ann,work\ncid,bob,work\n"}) / "net.csv"
    expected = Multiplex.from_edges(["ann", "bob"], ["bob", "cid"], "work", directed=True)
    assert read(path, directed=True) == expected
    assert read(lay_out(tmp_path, {"net.tsv": path.read_text().replace(",", "\t")}) / "net.tsv").num_edges == 2


def test_triples_without_a_header_in_a_table_are_told_of(tmp_path):
    lay_out(tmp_path, {"net.tsv": FILES["train.txt"]})
    with refuses("net.tsv", "'ann'", "read with format=triples"):
        read(tmp_path / "net.tsv")


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
