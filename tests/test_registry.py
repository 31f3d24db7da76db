from banditplex.registry import Registry
from tests.refusals import refuses


def test_a_name_is_given_once():
    table: Registry[int] = Registry("thing")
    table.add("one", 1)
    with refuses("thing", "'one'", error=ValueError):
        table.add("one", 2)
    assert dict(table) == {"one": 1}
    assert "two" not in table


def test_an_unknown_name_is_answered_with_those_that_are_known():
    table: Registry[int] = Registry("thing")
    table.add("one", 1)
    with refuses("thing", "'zzz'", "one"):
        table["zzz"]
