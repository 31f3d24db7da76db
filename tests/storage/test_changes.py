"""A refused run names what has changed, and nothing else, in a line that can be read."""

import pytest

from banditplex.storage.files import check_same, differences
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({"k": 1, "seed": 0}, {"seed": 0, "k": 2}, ["k was 1, now 2"]),
        ({"a": {"b": {"c": "x"}}}, {"a": {"b": {"c": "y"}}}, ["a b c was 'x', now 'y'"]),
        ({"options": None}, {"options": {"raw": True}}, ["options raw was not given, now True"]),
        ({"options": {"raw": True}}, {"options": {}}, ["options raw was True, now not given"]),
        ({"options": None}, {"options": {}}, ["options was None, now {}"]),
        ({"methods": {}}, {"methods": {"exp3": {"k": 1}}}, ["methods exp3 was not given, now given"]),
        ({"n": list(range(40))}, {"n": [3]}, ["n was [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11..., now [3]"]),
        ({"n": list(range(40))}, {"n": list(range(41))}, ["n has changed"]),
        ({"k": 1}, {"k": 1}, []),
    ],
    ids=str,
)
def test_words(before, now, words):
    assert list(differences(before, now)) == words


def test_many_changes_are_counted(tmp_path):
    with refuses(tmp_path / "x", "a; b; c; d; e; and 2 more"):
        check_same(tmp_path / "x", iter("abcdefg"))
    check_same(tmp_path / "x", [])
