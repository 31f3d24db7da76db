"""`banditplex compare`: the table, its files, and what is refused."""

import json

import pytest

import banditplex as bx
from banditplex.cli.compare import GROUPS, METHODS
from banditplex.leaderboard import find_methods
from banditplex.leaderboard.methods import choose_methods
from tests.leaderboard.test_compare import multiplex

WORDS = ("compare", "data.csv", "--methods", "svd-union,jaccard", "--seeds", "1", "--trials", "1", "--engine", "serial")


@pytest.fixture
def folder(tmp_path):
    bx.write(multiplex(), tmp_path / "data.csv")
    return tmp_path


@pytest.mark.slow
def test_a_table_with_facts_conditions_and_files(call, refusal, folder):
    status, out, error = call(*WORDS, "-o", "out", cwd=folder)
    assert status == 0, error
    head, _, rest = out.partition("\n\n")
    assert head.startswith("data.csv: Multiplex(30 nodes, 3 layers, 120 edges, undirected)\nLayers per linked pair:")
    assert "without tuning" in " ".join(rest.split())
    names = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert {"method", "svd-union", "jaccard"} == names
    assert error.splitlines()[0].endswith("these methods: svd-union,jaccard; 1 seed each, up to 1 setting tried.")
    assert error.splitlines()[1].startswith("1/2  svd-union, seed 0: hard MRR 0.")
    files = ("layers.csv", "leaderboard.csv", "leaderboard.md", "report.html", "rows.jsonl", "seeds.csv")
    assert sorted(path.name for path in (folder / "out").iterdir()) == list(files)
    assert "out" in refusal(*WORDS, "-o", "out", cwd=folder)
    status, again, error = call(*WORDS, "-o", "out", "--resume", "--quiet", cwd=folder)
    assert (status, error) == (0, "")
    assert again.splitlines()[:12] == out.splitlines()[:12]
    status, text, error = call(*WORDS, "-o", "out", "--resume", "--json", "--quiet", cwd=folder)
    found = json.loads(text)
    assert {line["method"] for line in found["methods"]} == {"svd-union", "jaccard"}
    assert found["verdict"] is None  # ours is not among them
    assert {line["layer"] for line in found["layers"]} == set(multiplex().layer_names)


def test_wrong_methods_are_refused_by_the_names_of_all_methods():
    assert list(find_methods()) == list(METHODS)
    assert all(choose_methods([group]) for group in GROUPS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--quick", "fits of these methods: quick; 5 seeds each, up to 1 setting tried."),
        ("--seeds 2 --trials 3", "fits of these methods: all; 2 seeds each, up to 3 settings tried."),
    ],
)
def test_what_is_going_on_is_said_at_once(call, folder, words, told):
    """A target that is not there stops it, once the data are read."""
    error = call("compare", "data.csv", "--target", "z", *words.split(), cwd=folder)[2]
    assert error.splitlines()[0] == f"banditplex: reading data.csv; then {told}"


def test_methods_are_listed(call, tmp_path):
    listed = json.loads(call("compare", "--list-methods", "--json", cwd=tmp_path)[1])
    assert [each["name"] for each in listed] == list(find_methods())
    svd = next(each for each in listed if each["name"] == "svd")
    assert svd["settings"][0] == {}
    assert all(list(settings) == ["rank"] for settings in svd["settings"][1:])
    table = call("compare", "--list-methods", cwd=tmp_path)[1]
    assert [line.split()[0] for line in table.splitlines()[1:]] == list(find_methods())


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("compare", ["DATA"]),
        ("compare data.csv --resume", ["-o DIR"]),
        ("compare data.csv --quiet --methods svdd", ["svdd", "svd"]),
        ("compare data.csv --hide edge", ["layer, pair", "'edge'", "`evaluate`", "--split fixed"]),
        ("compare nowhere --seeds 0", ["seeds", "0"]),  # before data are looked for
        ("compare nowhere --trials 0", ["--trials", "0"]),
        ("compare nowhere --budget 0", ["--budget", "0"]),
        ("compare nowhere --memory -1", ["--memory", "-1"]),
        ("compare nowhere --jobs 0", ["jobs", "0"]),
        ("compare nowhere --engine threads", ["engine", "'threads'"]),
        ("compare data.csv --split half", ["--split", "half"]),
        ("compare data.csv --quiet --target z", ["'z'"]),
        ("compare data.csv --quiet --device tpu", ["device", "'tpu'"]),
        ("compare data.csv --quiet --split fixed", ["data.csv"]),
        ("compare data.csv --split fixed --hide pair", ["--hide layer", "pair"]),
    ],
)
def test_a_mistake_is_one_line(refusal, folder, words, values):
    said = refusal(*words.split(), cwd=folder)
    assert all(value in said for value in values), said
