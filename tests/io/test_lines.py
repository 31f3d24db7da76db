from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.io.lines import BLANKS, index_names, parse_rows, read_text
from tests.io.checks import lay_out, refuses_file

fields = st.sampled_from(["a", "b", "ab", "7", "07", "-3", "é", '"', "0", "x" * 40])
blanks = st.text(" \t", max_size=3)


def column(*chunks):
    return pa.chunked_array([list(chunk) for chunk in chunks], pa.string())


@st.composite
def texts(draw, delimiter):
    """Draw lines of equally many fields, white space where it does not count, and blank lines between them."""
    width = draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(fields, min_size=width, max_size=width), max_size=12))
    text, numbers = "", []
    for row in rows:
        text += "".join(f"{draw(blanks)}\n" for _ in range(draw(st.integers(0, 2))))
        numbers.append(text.count("\n") + 1)
        between = [draw(blanks) + (delimiter or " ") + draw(blanks) for _ in row[1:]] + [""]
        text += (
            draw(blanks) + "".join(field + gap for field, gap in zip(row, between, strict=True)) + draw(blanks) + "\n"
        )
    return width, rows, numbers, text.encode()


@given(st.sampled_from(["", ","]).flatmap(lambda delimiter: st.tuples(st.just(delimiter), texts(delimiter))))
def test_rows_are_what_splitting_every_line_gives(case):
    delimiter, (width, rows, numbers, text) = case
    parsed = parse_rows(text, Path("x"), delimiter=delimiter or BLANKS, widths=range(width, width + 1))
    assert list(zip(*(each.to_pylist() for each in parsed.columns), strict=True)) == [tuple(row) for row in rows]
    assert [parsed.line(row) for row in range(len(rows))] == numbers
    names, codes = index_names(parsed.columns[1:], declared=parsed.columns[:1])
    every = [field for place in range(width) for field in (row[place] for row in rows)]
    plain = [str(int(field)) == field if field.lstrip("-").isdigit() else False for field in every]
    kind = int if all(plain) else str
    first = list(dict.fromkeys(kind(row[0]) for row in rows))
    assert names.tolist() == first + sorted({kind(field) for field in every} - set(first))
    for place, each in enumerate(codes, 1):
        assert names[each].tolist() == [kind(row[place]) for row in rows]


@given(st.lists(st.tuples(st.floats(), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_numbers_are_what_python_reads(rows):
    text = "".join(f"{number!r};{integer};x\n" for number, integer in rows).encode()
    parsed = parse_rows(text, Path("x"), delimiter=";", widths=range(3, 4))
    floats, integers = zip(*rows, strict=True)
    assert np.array_equal(parsed.numbers(0, "a number"), floats, equal_nan=True)
    assert np.array_equal(parsed.numbers(1, "a number"), integers)
    assert parsed.numbers(1, "a number").dtype == np.int64


@pytest.mark.parametrize("row", [0, 1, 6, 8])
def test_the_first_field_that_is_no_number_is_found(row):
    numbers = ["1.5"] * 9
    numbers[row], numbers[-1] = "x", "y" if row < 8 else "x"
    parsed = parse_rows("\n".join(numbers).encode(), Path("x"), delimiter=BLANKS, widths=range(1, 2))
    with refuses_file("x", "a number", "'x'", line=row + 1):
        parsed.numbers(0, "a number")


def test_names_beyond_64_bits_are_strings():
    names, _ = index_names([column(["9223372036854775807"], ["1"])])
    assert names.tolist() == [1, 2**63 - 1]
    names, _ = index_names([column(["9223372036854775808"], ["1"])])
    assert names.tolist() == ["1", "9223372036854775808"]


def test_text_is_tidied(tmp_path):
    content = b"\xef\xbb\xbfa b\r\n # no\r% no\nc#d e\n"
    path = lay_out(tmp_path, {"x": content}) / "x"
    assert read_text(path, comments=[b"#", b"%"]) == b"a b\n\n\nc#d e\n"
    with refuses_file(tmp_path):
        read_text(tmp_path)


def test_a_line_of_many_megabytes():
    text = b"a b\n" + b"a" * 12_000_000 + b" b\n"
    with refuses_file("x"):
        parse_rows(text, Path("x"), delimiter=BLANKS, widths=range(2, 3))
