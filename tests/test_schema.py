"""The schema check: what it says of values that differ, worked by hand."""

import pytest

from banditplex.errors import FormatError, InputError
from banditplex.schema import ANYTHING, DEPTH, NAMES, NUMBER, check_version, mismatch, one_of, parse, show, whole
from tests.refusals import refuses


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "schema", "found"),
    [
        (1, int, None),
        (True, int, ("", "an integer", "True")),
        (1.0, int, ("", "an integer", "1.0")),
        ({"a": 1}, {"a": int}, None),
        ({}, {"a": int}, ("", "an entry 'a'", "none")),
        ({}, {"a?": int}, None),
        ({"b": 1}, {"a?": int}, ("", "only the entries 'a'", "'b'")),
        ({"b": 1, "c": "x"}, {"*": int}, ("c", "an integer", "'x'")),
        ([1, 2, "x"], [int], ("[2]", "an integer", "'x'")),
        ({"a": {"b": [{"c": None}]}}, {"a": {"b": [{"c": str}]}}, ("a.b[0].c", "a string", "None")),
        (None, (type(None), [int]), None),
        ("x", (type(None), [int]), ("", "null or a list", "'x'")),
        ({"a": 1.5}, (type(None), {"a": int}), ("a", "an integer", "1.5")),
        (4, whole(0, 3), ("", "an integer from 0 to 3", "4")),
        (True, one_of(1), ("", "1", "True")),
        (float("inf"), NUMBER, ("", "a finite number", "inf")),
        ([2**63], NAMES, ("", NAMES.phrase, "a list of 1")),
        ([-(2**63), 2**63 - 1], NAMES, None),
        (nested(DEPTH - 1), ANYTHING, None),
        (nested(DEPTH), ANYTHING, ("", ANYTHING.phrase, "a list of 1")),
    ],
)
def test_what_differs_is_said(value, schema, found):
    assert mismatch(value, schema) == found


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, b"\xff\xfe", "1" * 5000, '"\\udc00"', "", "nul"])
def test_whatever_comes_is_refused_in_one_line(text):
    with pytest.raises(FormatError) as error:
        parse(text, ANYTHING, path="file.json")
    assert str(error.value).startswith("file.json")
    assert "\n" not in str(error.value)


def test_pairs_of_surrogates_are_characters():
    assert parse('["\\ud83d\\ude00"]', [str]) == ["\U0001f600"]


def test_long_values_are_cut_off():
    assert len(show("x" * 1000)) == 40
    assert show(10**1000) == "an integer of 3322 bits"
    assert show({"a": 1}) == "an object of 1"


def test_versions():
    check_version(2, 2, path="f")
    for found in (3, 0, "2", None, True, 2.0):
        with refuses("f: ", found, error=FormatError):
            check_version(found, 2, path="f")
    with refuses("newer", error=InputError):
        check_version(3, 2, path="f")
