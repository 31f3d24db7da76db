"""The command in small: complete, resumable, and the same in every engine."""

import json
import os

import pytest

from banditplex.experiments.paper import report, settings
from banditplex.experiments.paper import reproduce as module
from banditplex.experiments.paper.reproduce import folds_of, reproduce, tasks
from banditplex.experiments.paper.settings import DATASETS, FULL, METHODS, Size
from tests.refusals import refuses

TINY = Size(1, 1, 2)


@pytest.fixture
def small(monkeypatch):
    from banditplex.datasets import planted

    mx = planted(3, 1, 0.9, num_nodes=30, edges_per_layer=40, communities=3, seed=0)
    monkeypatch.setattr(module, "multiplex_of", lambda dataset: mx)
    monkeypatch.setattr(report, "draw", lambda *_: None)  # they have tests of their own
    folds_of.cache_clear()
    yield mx
    folds_of.cache_clear()


def results(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "rows.jsonl"}


def test_the_full_run_is_that_of_the_paper():
    every = list(tasks(list(DATASETS), FULL))
    assert len(every) == len({task.key for task in every}) == 6 * 7 * 10 * 5
    assert {task.epochs for task in every} == {100}


def test_a_run_that_was_stopped_goes_on(small, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    options = {"datasets": ["ckm"], "size": TINY, "engine": "serial"}
    reproduce(whole, **options)
    lines = (whole / "rows.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 7
    stopped.mkdir()
    (stopped / "rows.jsonl").write_text("".join(lines[:5]) + lines[5][:20])  # killed while a line was written
    with refuses(stopped, "resume=True"):
        reproduce(stopped, **options)
    reproduce(stopped, **options, resume=True)
    assert (stopped / "rows.jsonl").read_text().splitlines(keepends=True) == lines
    assert results(stopped) == results(whole)
    with refuses("size epochs was 2, now 3"):
        reproduce(stopped, **options | {"size": Size(1, 1, 3)}, resume=True)


def test_unknown_data_sets_are_refused(tmp_path):
    with refuses("'twins'", *DATASETS):
        reproduce(tmp_path / "new", datasets=["twins"])
    assert not (tmp_path / "new").exists()


def test_command(small, call, refusal, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "QUICK", TINY)
    words = ("reproduce", "--quick", "--dataset", "ckm", "--engine", "serial", "--out", "here")
    status, out, error = call(*words, cwd=tmp_path)
    assert (status, error.splitlines()[-1]) == (0, "banditplex: here: 7 of 7 runs.")
    assert "better everywhere" in out
    assert "banditplex reproduce --quick --dataset ckm\n" in (tmp_path / "here" / "index.md").read_text()
    said = refusal(*words, cwd=tmp_path)
    assert said.startswith("here: ")
    assert "--resume" in said
    status, out, _ = call(*words, "--resume", "--json", cwd=tmp_path)
    assert status == 0
    assert {claim["dataset"] for claim in json.loads(out)["claims"]} == {"ckm"}
    assert "got 'twins'" in refusal("reproduce", "--dataset", "twins", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BANDITPLEX_DATA"), reason="BANDITPLEX_DATA is not set")
def test_real_data_in_processes_and_in_this_one(tmp_path):
    options = {"datasets": ["vickers"], "size": TINY}
    folder = tmp_path / "out"
    found = reproduce(folder, **options, engine="processes", jobs=1)
    assert {finding.dataset for finding in found} == {"vickers"}
    about, *lines = map(json.loads, (folder / "rows.jsonl").read_text().splitlines())
    assert about["about"]["data"]["vickers"]["edges"] == 518
    here = {task.key: module.measure(task) for task in tasks(["vickers"], TINY)}
    assert {line["task"]: line["rows"] for line in lines} == here
    assert len(here) == len(METHODS)
