"""Functions inside `banditplex.io`, each by an example."""

import pyarrow as pa

from banditplex.io.base import parse_names, unpacked_limit
from banditplex.io.dispatch import Path, _shown
from banditplex.io.edgelists import looks_like_headers, natural
from banditplex.io.lines import index_names
from banditplex.io.tables.text import sniff_delimiter, sniff_encoding
from tests.shown import shown


def test_parse_names():
    found = shown((parse_names(["3", "12"]), parse_names(["3", "012"])))
    assert found == "(array([ 3, 12]), array(['3', '012'], dtype=object))"


def test_shown():
    found = (_shown("a.csv"), _shown(["a.csv", Path("b.csv"), "c.csv"]), _shown({"work": None}))
    expected = ("a.csv", "a.csv and 2 more", "a dict")
    assert found == expected


def test_looks_like_headers():
    assert looks_like_headers([(["one", "other"], [["1", "2"], ["2", "3"]])])
    assert not (looks_like_headers([(["ann", "bob"], [["bob"], ["cid"]])]))


def test_natural():
    assert sorted(["l10", "l2", "a"], key=natural) == ["a", "l2", "l10"]


def test_index_names():
    names, (codes,) = index_names([pa.chunked_array([["9", "30", "9"]])])
    assert shown((names, codes)) == "(array([ 9, 30]), array([0, 1, 0]))"


def test_sniff_delimiter():
    assert sniff_delimiter("from;to\n1;2\n", ",", lambda names: "to" in names) == ";"


def test_sniff_encoding():
    found = [sniff_encoding(text) for text in (b"a", "é".encode(), b"\xe9", "a".encode("utf-16"), b"\0a\0b", b"a\0b")]
    expected = ["utf-8", "utf-8", "cp1252", "utf-16", "utf-16-be", "utf-8"]
    assert found == expected


def test_unpacked_limit():
    found = (unpacked_limit(1000), unpacked_limit(1 << 30), unpacked_limit(1000, 500))
    expected = (67108864, 107374182400, 500)
    assert found == expected
