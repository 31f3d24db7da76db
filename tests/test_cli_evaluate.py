"""`banditplex evaluate`: tables, files, and one line for what the user can mend."""

import json

import pytest

import banditplex as bx
from banditplex.evaluation import read_results

QUICK = ("--hide", "layer", "--trials", "2", "--folds", "2", "--epochs", "1", "--engine", "serial")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    bx.write(
        bx.planted(3, 1, 0.8, num_nodes=30, edges_per_layer=40, communities=3, within=0.9, seed=1), folder / "data.csv"
    )
    return folder


@pytest.fixture(scope="module")
def finished(folder):
    """The rows of two policies, made without the command line."""
    models = {name: bx.LinkPredictor(policy=name, epochs=1) for name in ("none", "uniform")}
    options = {"hide": "layer", "trials": 2, "folds": 2, "engine": "serial"}
    return list(bx.evaluate(models, bx.read(folder / "data.csv"), **options, out=folder / "rows.jsonl"))


def test_a_table_with_tests(call, folder, finished):
    """What finished elsewhere is not run again: only a table is printed."""
    words = ["evaluate", "data.csv", "--policy", "none,uniform", *QUICK, "-o", "rows.jsonl", "--resume"]
    status, out, error = call(*words, cwd=folder)
    assert status == 0, error
    lines = out.splitlines()
    assert lines[1].split("  ")[0] == "metric"
    assert [line.split()[:2] for line in lines[2:8]] == [
        [metric, policy] for metric in ("accuracy", "roc_auc", "mrr") for policy in ("none", "uniform")
    ]
    mean = sum(row["roc_auc"] for row in finished if (row["scope"], row["method"]) == ("mean", "none")) / 4
    assert f"{mean:.3f} ±" in lines[4]
    assert "Differences to uniform, on the same splits:" in out
    assert "Rows: rows.jsonl" in out
    assert error.splitlines()[0].startswith("1/8  trial 0, fold 0, none: accuracy 0.")
    assert len(error.splitlines()) == 8


def test_json_and_new_rows(call, folder):
    words = ["evaluate", "data.csv", *QUICK, "--policy", "all", "--metric", "hits_at_10", "--target", "noise1"]
    status, out, error = call(*words, "--trials", "1", "-o", "new.jsonl", "--json", "--quiet", cwd=folder)
    assert (status, error) == (0, "")
    told = json.loads(out)
    assert (told["trials"], told["out"], told["summary"][0]["runs"]) == (1, "new.jsonl", 2)
    assert told["summary"][0]["difference"] is None
    about, rows = read_results(folder / "new.jsonl")
    assert about["methods"]["all"]["epochs"] == 1
    assert about["targets"] == ["noise1"]
    mean = [row["hits_at_10"] for row in rows if row["scope"] == "mean"]
    assert told["summary"][0]["mean"] == pytest.approx(sum(mean) / 2)


def test_resuming_nothing_begins_and_says_so(call, folder):
    words = ["evaluate", "data.csv", *QUICK, "--policy", "none", "--trials", "1", "-o", "begun.jsonl", "--resume"]
    status, _, error = call(*words, cwd=folder)
    assert status == 0
    assert error.startswith("banditplex: begun.jsonl: there is nothing to resume; a new run begins.\n1/2  trial 0")
    assert "nothing to resume" not in call(*words, cwd=folder)[2]


def test_ctrl_c_says_how_to_go_on(call, folder, monkeypatch):
    def interrupted(*_, **__):
        yield {"scope": "mean"}
        raise KeyboardInterrupt

    monkeypatch.setattr("banditplex.evaluation.evaluate", interrupted)
    status, _, error = call("evaluate", "data.csv", *QUICK, "-o", "x.jsonl", cwd=folder)
    assert status == 130
    again = f"banditplex evaluate data.csv {' '.join(QUICK)} -o x.jsonl --resume"
    assert error == f"banditplex: stopped after 1 of 8 runs; go on with: {again}\n"
    assert call("evaluate", "data.csv", *QUICK, cwd=folder)[2].endswith("nothing was kept, as there is no -o FILE\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "unifrom"], "Unknown policy 'unifrom'; did you mean 'uniform'?"),
        (["--policy", "uniform,uniform"], "Expected different policies, got uniform,uniform."),
        (["--metric", "auc"], "Expected metrics among accuracy, roc_auc, "),
        (["--trials", "0"], "Expected at least 1 trial, got 0."),
        (["--folds", "1"], "Expected at least 2 folds, got 1."),
        (["--folds", "41"], "Expected at least 41 edges for 41 folds in 'g1-base', got 40."),
        (["--hide", "edge"], "Expected hide to be one of layer, pair, got 'edge'."),
        (["--negatives", "easy"], "Expected negatives to be one of uniform, degree, hard, got 'easy'."),
        (["--target", "g1"], "Unknown layer 'g1'"),
        (["--engine", "threads"], "Unknown engine 'threads'"),
        (["--jobs", "0"], "Expected at least 1 job, got 0."),
        (["--epochs", "0"], "trial 0, fold 0, uniform: Expected epochs to be an integer of at least 1, got 0."),
        (["-k", "9"], "trial 0, fold 0, uniform: Expected k "),
        (["-o", "data.csv"], "data.csv: exists; go on with that run (resume=True, --resume), or choose another file."),
        (
            ["-o", "rows.jsonl", "--resume", "--policy", "none,uniform,all", "--seed", "7"],
            "rows.jsonl: expected the settings and data that this run began with; seed was 0, now 7; "
            "methods all was not given, now given.",
        ),
        (["-o", "no/where.jsonl"], "no/where.jsonl: cannot be written: expected a folder at no."),
        (["--resume"], "Expected -o FILE with --resume, got none."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(refusal, folder, finished, words, message):
    assert refusal("evaluate", "data.csv", *QUICK, "--quiet", *words, cwd=folder).startswith(message)


def test_missing_ray(refusal, folder, monkeypatch):
    monkeypatch.setattr("banditplex.evaluation.engine.find_spec", lambda name: None)
    message = "Expected Ray for engine 'ray', which is not installed: pip install banditplex[ray]"
    assert refusal("evaluate", "data.csv", *QUICK, "--engine", "ray", cwd=folder) == message


def test_hide_must_be_chosen(call, folder):
    status, _, error = call("evaluate", "data.csv", cwd=folder)
    assert status == 2
    assert "--hide" in error
