"""Functions inside `banditplex.cli`, each by an example."""

import pandas as pd

from banditplex.cli.data import as_name, in_flags, later_columns, parse_columns, title_of
from banditplex.cli.gains import gain_lines
from banditplex.cli.options import PlainCommand, options_by_policy, parse_options
from banditplex.cli.output import _fit
from banditplex.cli.report import Path, last_line, page_beside
from banditplex.cli.train import _chance, _numbers, _rows, added, scalars


def test_paragraphs_of_help_are_one_line_each():
    assert PlainCommand("show", help="One.\n\nTwo\nlines.").help == "One.\n\nTwo lines."


def test_as_name():
    assert (as_name("7", (1, 2)), as_name("7", ("a", "b"))) == (7, "7")


def test_later_columns():
    assert later_columns(["source=u,layer=kind"], ["layer=type"]) == ["source=u", "layer=type"]


def test_parse_columns():
    found = parse_columns(["source=from,target=to", "layer=kind", "source=von"])
    expected = {"source": ("from", "von"), "destination": "to", "layer": "kind"}
    assert found == expected


def test_title_of():
    assert (title_of(["twins"]), title_of(["calls.csv", "mails.csv"])) == ("twins", "calls.csv, mails.csv")


def test_in_flags():
    found = in_flags("net.csv: expected a new path, got an existing one; overwrite=True replaces it.")
    expected = "net.csv: expected a new path, got an existing one; --force replaces it."
    assert found == expected
    found = in_flags("Expected an option of the format gatne, got num_nodes=; its options: directed, part.")
    expected = "Expected an option of the format gatne, got --num-nodes."
    assert found == expected
    found = in_flags("selects a column, as in source='PERSON A', destination='PERSON B'")
    expected = "selects a column, as in --columns source='PERSON A',target='PERSON B'"
    assert found == expected
    found = in_flags("if 'Label' has the names of nodes, say node_columns={'name': 'Label'}.")
    expected = "if 'Label' has the names of nodes, say --node-columns name='Label'."
    assert found == expected


def test_gain_lines():
    rows = [("friend", "talk", 0.062, 0.03, 0.094, True), ("advice", "talk", 0.001, -0.01, 0.012, False)]
    found = gain_lines(pd.DataFrame(rows, columns=["target", "layer", "gain", "low", "high", "helps"]))
    expected = ["friend: talk helps: log loss falls by .062 (.030 to .094)", "advice: no other layer helps"]
    assert found == expected


def test_fit():
    rows = [["ann", "x" * 40, "y" * 30]]
    found = [_fit(["name", "long title", "and another"], rows, room) for room in (None, 70, 50, 10)]
    expected = [[4, 40, 30], [4, 32, 30], [4, 21, 21], [4, 12, 12]]
    assert found == expected


def test_options_by_policy():
    found = options_by_policy(["uniform", "exp3+", "fixed"], ["raw_range=true", 'layers=["a"]'])
    expected = {"uniform": {}, "exp3+": {"raw_range": True}, "fixed": {"layers": ["a"]}}
    assert found == expected


def test_parse_options():
    found = parse_options(["raw_range=true", 'layers=["a", "b"]', "policy=exp3"])
    expected = {"raw_range": True, "layers": ["a", "b"], "policy": "exp3"}
    assert found == expected


def test_last_line():
    found = (last_line(["Rows: e.jsonl."], Path("e.html")), last_line([], Path("e.html")))
    expected = ("Rows: e.jsonl. Report: e.html", "Report: e.html")
    assert found == expected


def test_page_beside():
    assert page_beside(["tables/links.csv"], "evaluation").name == "links-evaluation.html"


def test_scalars():
    row = {"layers": [{"layer": "a", "train_loss": 0.5, "regret": 0.0, "inclusion": {"b": 0.9}}]}
    assert list(scalars(row)) == [("train_loss/a", 0.5), ("regret/a", 0.0), ("inclusion of a/b", 0.9)]


def test_chance():
    found = _chance({"targets": [{"target": "a", "clear": True}, {"target": "b", "clear": False}]})
    expected = ["Not clearly better than chance on held-out edges: b."]
    assert found == expected
    unknown = _chance({"targets": [{"target": "a", "clear": None}, {"target": "b", "clear": True}]})
    assert unknown == ["Not known to be better than chance, without held-out edges: a."]


def test_numbers():
    assert (_numbers([30]), _numbers([30, 25, 30])) == ("epoch 30", "epochs 25, 30")


def test_rows():
    gains = [{"layer": "talk", "gain": 0.1, "helps": True}, {"layer": "lunch", "gain": 0.0, "helps": False}]
    entry = {"target": "advice", "validation_loss": 0.5, "validation_accuracy": 0.8, "gains": gains}
    found = _rows({"targets": [entry | {"layers_used": ["talk", "lunch", "club"]}, entry | {"layers_used": []}]})
    expected = [["advice", 0.5, 0.8, "talk (helps); lunch, club (no gain shown)"], ["advice", 0.5, 0.8, "none"]]
    assert found == expected


def test_added():
    found = added({"columns": ["source=u", "layer=kind"], "missing": "drop"}, {"columns": ["layer=type"]})
    expected = {"columns": ["source=u", "layer=type"], "missing": "drop"}
    assert found == expected
