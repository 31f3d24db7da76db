"""Weights as spreadsheets write them; the numbers are those that a reader of the country would say."""

import pytest

import banditplex as bx
from tests.io.checks import refuses_file
from tests.io.test_messy import put, said
from tests.refusals import refuses


def table(folder, *weights):
    rows = "".join(f"a;b{row};{weight}\n" for row, weight in enumerate(weights))
    return put(folder / "net.csv", "source;target;weight\n" + rows)


def weights(path, **options):
    told, mx = said(lambda: bx.read(path, delimiter=";", **options))
    return told, mx.weights("edges").tolist()


@pytest.mark.parametrize(
    ("texts", "numbers", "words"),
    [
        (["1.234,50", "12"], [1234.5, 12], "decimal commas and points between thousands"),
        (["1.234", "0,5"], [1234, 0.5], "decimal commas and points between thousands"),
        (["1.234.567"], [1234567], "points between thousands"),
        (["1,234.50", "12"], [1234.5, 12], "decimal points and commas between thousands"),
        (["1,234,567", "1,234"], [1234567, 1234], "commas between thousands"),
        (["1 234,5", "1\u00a0000,25"], [1234.5, 1000.25], "decimal commas and spaces between thousands"),
        (["1'234.5", "1\u2019000"], [1234.5, 1000], "decimal points and apostrophes between thousands"),
        (["1,234", "0,125"], [1.234, 0.125], "decimal commas"),
        (["1,2345"], [1.2345], "decimal commas"),
        (["1.5", " 2 ", "1e3"], [1.5, 2, 1000], None),
    ],
)
def test_spellings_that_are_found_out(tmp_path, texts, numbers, words):
    told, found = weights(table(tmp_path, *texts))
    assert found == numbers
    assert [words in each for each in told] == ([True] if words else [])


@pytest.mark.parametrize("texts", [["1,234", "12"], ["1.234", "1,234"]])
def test_spellings_that_may_be_two_numbers(tmp_path, texts):
    path = table(tmp_path, *texts)
    with refuses_file(path, "'1,234'", "1234 or 1.234", "thousands=','", "decimal=','", line=2 + texts.index("1,234")):
        bx.read(path, delimiter=";")


def test_what_is_given_is_not_guessed(tmp_path):
    path = table(tmp_path, "1,234", "12")
    assert weights(path, decimal=",") == ([], [1.234, 12])
    assert weights(path, thousands=",") == ([], [1234, 12])
    path = table(tmp_path, "1.234", "12")
    (told,), found = weights(path)
    assert found == [1.234, 12]
    assert "thousands='.' reads them as 1234" in told
    assert weights(path, thousands=".") == ([], [1234, 12])
    assert weights(path, decimal=".") == ([], [1.234, 12])


def test_numbers_that_are_refused(tmp_path):
    path = table(tmp_path, "1.234,50", "much", "12")
    with refuses_file(path, "'much'", line=3):
        bx.read(path, delimiter=";")
    path = table(tmp_path, "1.23")
    with refuses_file(path, "'1.23'", line=2):
        bx.read(path, delimiter=";", thousands=".")
    with refuses("thousands", "'x'"):
        bx.read(path, thousands="x")
    with refuses("thousands", "decimal", "','"):
        bx.read(path, thousands=",", decimal=",")


@pytest.mark.parametrize(("ids", "nodes"), [(["1", "1.0", "1.00"], [1, 5]), (["1", "1,0"], [1, 5])])
def test_ids_with_zeros_are_the_same_beside_decimal_commas(tmp_path, ids, nodes):
    """Programs write 1.0 for 1, whatever the decimal point of the amounts is."""
    rows = "".join(f"{each};5;2,5\n" for each in ids)
    told, mx = said(lambda: bx.read(put(tmp_path / "net.csv", "source;target;weight\n" + rows)))
    assert mx.node_names.tolist() == nodes
    assert any(f"{ids[1]} and 1 are the same node" in each for each in told)


def test_three_zeros_after_a_point_may_be_thousands(tmp_path):
    rows = "1;1.000;1.234,5\n2;1;2,5\n"
    _, mx = said(lambda: bx.read(put(tmp_path / "net.csv", "source;target;weight\n" + rows)))
    assert mx.node_names.tolist() == ["1", "1.000", "2"]
