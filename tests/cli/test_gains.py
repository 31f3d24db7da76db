"""Which layers help, in words."""

import pandas as pd

from banditplex.cli.gains import LAYERS, NAMES, SHOWN, gain_lines, print_gains
from banditplex.cli.output import records

COLUMNS = ["target", "layer", "gain", "low", "high", "helps"]
NAN = float("nan")


def test_layers_that_help_come_first_and_several_share_a_line():
    rows = [("a", "x", 0.001, -0.02, 0.022, False)]
    rows += [("b", f"x{i}", 0.4 - i / 10, 0.01, 0.5, True) for i in range(LAYERS + 1)]
    rows += [("c", "x", 0.5, 0.25, 0.75, True), ("d", "x", NAN, NAN, NAN, False)]
    first, second, *others = gain_lines(pd.DataFrame(rows, columns=COLUMNS))
    assert first == "c: x helps: log loss falls by .500 (.250 to .750)"
    assert second.startswith("b: 4 layers help: log loss falls by .400 (.010 to .500) with x0, .300 (")
    assert second.endswith(" with x2, and 1 more")
    assert others == ["a: no other layer helps", "d: not known, there are too few edges"]


def test_many_targets_are_counted():
    rows = [(f"t{i}", "x", 0.5, 0.1, 0.9, True) for i in range(SHOWN + 2)]
    rows += [(f"n{i}", "x", 0.0, -0.1, 0.1, False) for i in range(NAMES + 3)]
    lines = gain_lines(pd.DataFrame(rows, columns=COLUMNS))
    assert len(lines) == SHOWN + 2
    assert lines[-2] == "... and 2 more targets that a layer helps"
    assert lines[-1] == "n0, n1, n2, n3, n4, n5 and 3 more: no other layer helps"


def test_a_single_layer_has_no_other(capsys):
    print_gains(pd.DataFrame([], columns=COLUMNS))
    assert capsys.readouterr().out.endswith("\n  there is no other layer\n")


def test_what_is_not_known_is_null_in_json():
    table = pd.DataFrame([("d", "x", NAN, NAN, NAN, False)], columns=COLUMNS)
    assert records(table) == [{"target": "d", "layer": "x", "gain": None, "low": None, "high": None, "helps": False}]
