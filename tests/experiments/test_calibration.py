"""The calibration experiment: its table by hand, its rows on a small fit, and its figure."""

import pandas as pd
import pytest

from experiments.calibration import report, summary, work
from experiments.comparison import SplitRun


def row(data, seed, part, layer, says, true, pairs):
    return {"data": data, "seed": seed, "part": part, "layer": layer, "says": says, "is": true, "pairs": pairs}


ROWS = [
    row("x", 0, "brier", "", 0.2, 0.0, 0),
    row("x", 0, "top", "a", 0.5, 0.4, 100),
    row("x", 0, "top", "b", 0.1, 0.4, 100),
    row("x", 0, "bin", "0", 0.1, 0.2, 300),
    row("x", 0, "bin", "5", 0.6, 0.4, 100),
    row("x", 1, "brier", "", 0.1, 0.0, 0),
    row("x", 1, "top", "a", 0.6, 0.6, 100),
    row("x", 1, "bin", "0", 0.1, 0.1, 100),
]


def test_means_over_layers_then_seeds_by_hand():
    (line,) = summary(pd.DataFrame(ROWS)).to_dict("records")
    # Seed 0: errors .1 and .3; calibration error (.1 x 300 + .2 x 100) / 400. Seed 1: no errors.
    expected = {"says": 0.45, "is": 0.5, "error": 0.1, "calibration error": 0.0625, "Brier score": 0.15}
    assert line == pytest.approx(expected)


def test_the_report_has_a_line_per_data_set_and_a_figure(tmp_path):
    page = report(ROWS + [each | {"data": "y"} for each in ROWS])
    assert all(f"| {name} |" in page.parts[1] for name in ("x", "y", "mean"))
    page.draw(tmp_path)
    assert (tmp_path / "reliability.png").stat().st_size > 1000


def test_rows_of_a_fit():
    rows = pd.DataFrame(work(SplitRun("planted-4", "default", 0, 1)))
    assert rows["part"].value_counts()[["brier", "top"]].tolist() == [1, 4]
    assert rows[["says", "is"]].to_numpy().min() >= 0
    assert rows[["says", "is"]].to_numpy().max() <= 1
    assert rows.loc[rows["part"] == "bin", "pairs"].sum() == 4 * 1000
