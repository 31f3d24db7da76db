"""Dates as people write them, beside Python's own parser."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banditplex as bx
from tests.io.checks import refuses_file
from tests.io.test_messy import put, said
from tests.refusals import refuses

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def table(folder, *dates):
    rows = "".join(f"a;b{row};{date}\n" for row, date in enumerate(dates))
    return put(folder / "net.csv", "source;target;time\n" + rows)


def times(path, **options):
    told, mx = said(lambda: bx.read(path, delimiter=";", **options))
    return told, mx.times("edges").tolist()


def nanoseconds(text, form):
    return (datetime.strptime(text, form).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1000


@pytest.mark.parametrize(
    ("dates", "form", "order"),
    [
        (["19.09.2025", "01.02.2025"], "%d.%m.%Y", "day, month, year"),
        (["1.2.2025", "3.4.2025"], "%d.%m.%Y", "day, month, year"),  # points: the day is first
        (["04/03/2025", "25/04/2025"], "%d/%m/%Y", "day, month, year"),
        (["04/25/2025", "4/3/2025"], "%m/%d/%Y", "month, day, year"),
        (["25-04-2025"], "%d-%m-%Y", "day, month, year"),
        (["19.9.25", "1.1.70"], "%d.%m.%y", "day, month, year"),
        (["2025/09/19"], "%Y/%m/%d", None),
        (["2025-9-1"], "%Y-%m-%d", None),
        (["19.09.2025 9:05", "20.09.2025 23:59"], "%d.%m.%Y %H:%M", "day, month, year"),
        (["4/25/2025 12:04:05 AM", "4/25/2025 3:04:05 PM"], "%m/%d/%Y %I:%M:%S %p", "month, day, year"),
    ],
)
def test_forms_that_are_found_out(tmp_path, dates, form, order):
    told, found = times(table(tmp_path, *dates))
    assert found == [nanoseconds(date, form) for date in dates]
    assert [order in each for each in told] == ([True] if order else [])


@given(st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), min_size=1, max_size=5))
def test_any_date_comes_back(tmp_path_factory, dates):
    folder = tmp_path_factory.mktemp("dates")
    for form, order in (("%d.%m.%Y %H:%M:%S.%f", "dmy"), ("%m/%d/%Y %H:%M:%S.%f", "mdy")):
        texts = [f"{date:{form}}" for date in dates]
        assert times(table(folder, *texts), date_format=order) == ([], [nanoseconds(text, form) for text in texts])


def test_a_form_that_is_given(tmp_path):
    path = table(tmp_path, "04/05/2025")
    assert times(path, date_format="dmy")[1] == [nanoseconds("2025-05-04", "%Y-%m-%d")]
    assert times(path, date_format="mdy")[1] == [nanoseconds("2025-04-05", "%Y-%m-%d")]
    assert times(table(tmp_path, "20250919"), date_format="%Y%m%d")[1] == [nanoseconds("20250919", "%Y%m%d")]
    assert times(table(tmp_path, "19-Sep-2025"), date_format="%d-%b-%Y")[1] == [nanoseconds("20250919", "%Y%m%d")]


@pytest.mark.parametrize(
    ("dates", "line", "values"),
    [
        (["04/05/2025", "03/12/2025"], 2, ["'04/05/2025'", "date_format='dmy'", "date_format='mdy'"]),
        (["25/04/2025", "04/25/2025"], 3, ["'04/25/2025'", "'25/04/2025' in line 2"]),
        (["31.02.2025"], 2, ["'31.02.2025'"]),
        (["01.01.2025", "00.01.2025", "01.13.2025"], 3, ["'00.01.2025'"]),
        (["19.09.2025 25:00"], 2, ["'19.09.2025 25:00'"]),
        (["19.09.2025", "soon", "later"], 3, ["'soon'", "2 such rows", "time=''"]),
        (["19.09.2025", "2025-09-19"], 2, ["'19.09.2025'", "year first"]),
        (["20.25.2025"], 2, ["'20.25.2025'"]),
        (["19-Sep-2025"], 2, ["'19-Sep-2025'", "date_format='%d-%b-%Y'"]),
    ],
)
def test_dates_that_are_refused(tmp_path, dates, line, values):
    path = table(tmp_path, *dates)
    with refuses_file(path, *values, line=line):
        bx.read(path, delimiter=";")


def test_forms_that_are_refused(tmp_path):
    with refuses("date_format", "dmy", "'day first'"):
        times(table(tmp_path, "1.2.2025"), date_format="day first")
    with refuses_file(table(tmp_path, "1.2.2025"), "%Y", line=2):
        times(table(tmp_path, "1.2.2025"), date_format="%Y")
    with refuses("date_format", "%Q"):
        times(table(tmp_path, "1.2.2025"), date_format="%Q")


def test_text_in_a_frame_is_read_as_in_a_file():
    frame = pd.DataFrame(
        {"source": ["a"], "target": ["b"], "layer": "x", "time": ["19.09.2025"], "weight": ["1.234,5"]}
    )
    told, mx = said(lambda: bx.Multiplex.from_pandas(frame))
    assert mx.times("x").tolist() == [nanoseconds("19.09.2025", "%d.%m.%Y")]
    assert mx.weights("x").tolist() == [1234.5]
    assert any("day, month, year" in each for each in told)
    assert any("decimal commas and points between thousands" in each for each in told)


def test_columns_of_dates_are_suggested(tmp_path):
    path = put(tmp_path / "net.csv", "source,target,Datum,no\na,b,19.09.2025,1.2\n")
    (told,), _ = said(lambda: bx.read(path))
    assert "if 'Datum' is the time, say time='Datum'" in told
