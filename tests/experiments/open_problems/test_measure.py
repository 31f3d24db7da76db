"""Trainings of the open problems: the work they count, the data they use, the command."""

from dataclasses import replace

import pytest

from banditplex.datasets import planted
from experiments.open_problems import measure, settings
from experiments.open_problems.measure import Training
from experiments.runner import run
from tests.refusals import refuses


def tiny(name="tiny", seed=0):
    mx = planted(5, 2, 0.8, num_nodes=40, edges_per_layer=60, communities=4, seed=seed)
    return mx, ["g1-base", "g2-base"]


@pytest.fixture
def tiny_data(monkeypatch):
    monkeypatch.setattr(measure, "load", tiny)
    monkeypatch.setattr(settings, "DATA", {name: settings.Data(name, 2) for name in settings.DATA})


def last(part, label, value, epochs=2):
    return list(measure.work(Training(part, "twins", label, value, 0, epochs)))[-1]


def test_work_is_counted_exactly(tiny_data):
    # 60 edges of a target, 12 for the test, 4 for validation: 44 a target and epoch, in 4 steps, with both targets.
    none, one, everything = last("k", "none", 0), last("k", "uniform", 1), last("k", "all", 0)
    assert none["steps"] == one["steps"] == everything["steps"] == 2 * 4
    assert none["pairs"] == 2 * 2 * 44 * 2
    assert one["pairs"] == 2 * none["pairs"]
    assert everything["pairs"] == 5 * none["pairs"]
    assert none["edges"] == 2 * (4 * 2 * 44 - 2 * 44)  # both targets in every step, each edge hidden once an epoch
    assert none["edges"] < one["edges"] < everything["edges"]
    assert none["draws"] == 0
    assert one["draws"] == 2 * 4 * 2
    assert last("steps", "default", 4)["draws"] == 2 * 2


def test_curves_have_a_row_per_epoch_and_numbers_repeat(tiny_data):
    task = Training("cost", "twins", "cost-aware", 1.0, 0, 3)
    rows, again = (
        [{name: value for name, value in row.items() if name != "seconds_per_epoch"} for row in measure.work(task)]
        for _ in range(2)
    )
    assert rows == again
    assert [row["epoch"] for row in rows] == [1, 2, 3, 3]
    assert [row["final"] for row in rows] == [False, False, False, True]
    assert rows[0]["edges"] < rows[1]["edges"] < rows[2]["edges"] == rows[3]["edges"]
    assert 0 < rows[3]["probability"] < 1


def test_prices_are_the_edges_of_the_other_layers():
    mx = measure.uneven(0)
    (first, *_), targets = measure.prices(mx, ["g1-base"]), ["g1-base"]
    assert len(first) == mx.num_layers - len(targets)
    assert first[:3] == [500, 1500, 500]


def test_uneven_layers_share_what_they_should():
    mx = measure.uneven(3)
    edges = {name: set(map(tuple, mx.edges(name).T.tolist())) for name in mx.layer_names}
    for group in range(1, 5):
        base = edges[f"g{group}-base"]
        assert len(base & edges[f"g{group}-copy"]) >= 300
        assert 475 <= len(base & edges[f"g{group}-dense"]) <= 500
        assert len(edges[f"g{group}-dense"]) == 1500
    assert measure.load("uneven", 3)[1] == [f"g{group}-base" for group in range(1, 5)]


def test_targets_are_chosen_once_among_layers_with_enough_edges():
    mx = measure.uneven(0)
    some = settings.Data("some", 1, num_targets=3, min_edges=1000)
    chosen = measure.choose_targets(mx, some)
    assert chosen == measure.choose_targets(mx, some)
    assert len(set(chosen)) == 3
    assert all(name.endswith("dense") for name in chosen)
    assert measure.choose_targets(mx, settings.Data("all", 1)) is None


@pytest.mark.slow
def test_the_command_writes_tables_and_figures_and_refuses_to_overwrite(tiny_data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(settings, "QUICK_EPOCHS", 1)
    few = replace(settings.QUICK_PLANS["k"], values=(1, 2))
    monkeypatch.setitem(settings.QUICK_PLANS, "k", few)
    words = ["--quick", "--seeds", "1", "--out", str(tmp_path / "out"), "--engine", "serial"]
    run("open-problems", words)
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'out' / 'index.md'}: ")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    figures = {f"{name}.{kind}" for name in ("k", "steps", "cost", "losses") for kind in ("png", "svg")}
    assert written == figures | {"rows.jsonl", "summary.csv", "curves.csv", "index.md"}
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert "    $ python -m experiments open-problems --quick --seeds 1 --out out\n" in page
    assert page.count("\n## ") == 4
    with refuses(tmp_path / "out", "--resume"):
        run("open-problems", words)


def test_unknown_parts_are_refused(tmp_path):
    with refuses("'kk'", *settings.PARTS):
        run("open-problems", ["--out", str(tmp_path / "out"), "--only", "kk"])
