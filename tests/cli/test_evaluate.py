"""`banditplex evaluate`: tables, files, and user errors on one line."""

import json
import re

import numpy as np
import pytest

import banditplex as bx
from banditplex.cli.evaluate import _cells
from banditplex.cli.gains import gain_lines, gains_on
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
    """The rows of two policies, from the Python API."""
    models = {name: bx.LinkPredictor(policy=name, epochs=1) for name in ("none", "uniform")}
    options = {"hide": "layer", "trials": 2, "folds": 2, "engine": "serial"}
    return list(bx.evaluate(models, bx.read(folder / "data.csv"), **options, out=folder / "rows.jsonl"))


def test_a_table_with_tests(call, folder, finished):
    """Finished runs are not repeated: only the table is printed."""
    words = ["evaluate", "data.csv", "--policy", "none,uniform", *QUICK, "-o", "rows.jsonl", "--resume"]
    status, out, error = call(*words, cwd=folder)
    assert status == 0, error
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("metric"))
    gains = gains_on(bx.LinkPredictor(hide="layer"), bx.read(folder / "data.csv"), None)
    assert [line.strip() for line in lines[1:head] if ":" in line][1:] == gain_lines(gains)
    assert "on the whole graph" in " ".join(lines[1:head])
    lines = lines[head - 1 :]
    assert [line.split()[:2] for line in lines[2:8]] == [
        [metric, policy] for metric in ("accuracy", "roc_auc", "mrr") for policy in ("none", "uniform")
    ]
    mean = sum(row["roc_auc"] for row in finished if (row["scope"], row["method"]) == ("mean", "none")) / 4
    assert f"{mean:.3f} ±" in lines[4]
    assert "Differences to uniform, on the same splits:" in " ".join(out.split())
    assert "Rows: rows.jsonl" in out
    first, *others = error.splitlines()
    assert first == "banditplex: reading data.csv; then up to 8 fits: none and uniform, 2 trials of 2 folds."
    assert others[0].startswith("1/8  trial 0, fold 0, none: accuracy 0.")
    assert len(others) == 8


def test_a_split_of_triples_with_one_direction_hidden(call, tmp_path):
    """The page says it too: 60 triples of each of two relations for training, 10 for validation, 10 for the test."""
    mx = bx.planted(2, 1, 0.8, num_nodes=30, edges_per_layer=80, communities=3, within=0.9, seed=1)
    texts = {"train": "", "valid": "", "test": ""}
    for layer in mx.layer_names:
        for place, (u, v) in enumerate(mx.edges(layer)[:, np.random.default_rng(0).permutation(80)].T.tolist()):
            part = "train" if place < 60 else "valid" if place < 70 else "test"
            texts[part] += f"n{u}\t{layer}\tn{v}\n"
    (tmp_path / "kg").mkdir()
    for part, text in texts.items():
        (tmp_path / "kg" / f"{part}.txt").write_text(text)
    words = ("evaluate", "kg", "--split", "fixed", "--policy", "none", "--trials", "1", "--epochs", "1")
    status, out, error = call(*words, "--hide", "edge", "--engine", "serial", cwd=tmp_path)
    assert status == 0, error
    assert error.splitlines()[0] == "banditplex: reading kg; then 1 fit: none, 1 trial."
    assert "one direction of its layer" in " ".join(out.split())
    assert "filtered_mrr" in out
    assert "hidden in one direction of its layer" in (tmp_path / "kg-evaluation.html").read_text()


def test_models_can_be_set_as_in_train(call, folder):
    settings = {
        "steps_per_draw": 2, "patience": 3, "batch_size": 32, "learning_rate": 0.02, "validation": 0.2, "conv": "gcn",
        "width": 4, "depth": 1,
    }  # fmt: skip
    words = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = ["evaluate", "data.csv", *QUICK, "--policy", "none", "--target", "noise1", "--trials", "1", "--quiet"]
    status, _, error = call(*command, *words, "-o", "set.jsonl", cwd=folder)
    assert (status, error) == (0, "")
    about, _ = read_results(folder / "set.jsonl")
    assert settings.items() <= about["methods"]["none"].items()


def test_json_and_new_rows(call, folder):
    words = ["evaluate", "data.csv", *QUICK, "--policy", "all", "--metric", "hits_at_10", "--target", "noise1"]
    status, out, error = call(*words, "--trials", "1", "-o", "new.jsonl", "--json", "--quiet", cwd=folder)
    assert (status, error) == (0, "")
    shown = json.loads(out)
    assert (shown["trials"], shown["out"], shown["summary"][0]["runs"]) == (1, "new.jsonl", 2)
    assert shown["summary"][0]["difference"] is None
    assert {row["target"] for row in shown["gains"]} == {"noise1"}
    assert "data.csv: columns used: 'source' as source, 'target' as target, 'layer' as layer." in shown["notes"]
    about, rows = read_results(folder / "new.jsonl")
    assert about["methods"]["all"]["epochs"] == 1
    assert about["targets"] == ["noise1"]
    mean = [row["hits_at_10"] for row in rows if row["scope"] == "mean"]
    assert shown["summary"][0]["mean"] == pytest.approx(sum(mean) / 2)


def test_layers_prices_and_options_reach_the_policies(call, folder):
    words = ["evaluate", "data.csv", *QUICK, "--target", "noise1", "--warmup", "0", "--quiet", "-o", "options.jsonl"]
    words += ["--policy", "uniform,exp3+,fixed,cost-aware", "--policy-option", "raw_range=true"]
    words += ["--policy-option", 'prices={"noise1": 2.0}', "--policy-option", 'layers=["g1-base", "g1-copy1"]']
    assert call(*words, "--evidence", "drawn", cwd=folder)[0] == 0
    about, _ = read_results(folder / "options.jsonl")
    assert {name: method["policy_options"] for name, method in about["methods"].items()} == {
        "uniform": None,
        "exp3+": {"raw_range": True},
        "fixed": {"layers": ["g1-base", "g1-copy1"]},
        "cost-aware": {"prices": {"noise1": 2.0}},
    }
    assert {(method["warmup"], method["evidence"]) for method in about["methods"].values()} == {(0, "drawn")}


def test_hits_are_unknown_with_too_few_negatives(call, folder):
    """Half of 40 edges are held out, and ranked among as many pairs: no hits at 50."""
    words = ["evaluate", "data.csv", *QUICK, "--policy", "none", "--metric", "hits_at_50,hits_at_10", "--trials", "1"]
    words += ["--target", "noise1"]
    words += ["--quiet", "-o", "small.jsonl", "--resume"]
    status, out, _ = call(*words, cwd=folder)
    assert status == 0
    note = " ".join(out.split("\n\n")[-1].split())
    assert all(word in note for word in ("hits_at_50", "50 pairs", "--negatives hard", "Rows: small.jsonl"))
    stored = json.loads(call(*words, "--json", cwd=folder)[1])["summary"][1]
    shown = re.search(r"(\S+) \.\. (\S+)", out)
    runs = [row["hits_at_10"] for row in read_results(folder / "small.jsonl")[1] if row["scope"] == "mean"]
    half = 12.7062 * abs(runs[0] - runs[1]) / 2**0.5 * (1 / 2 + 1) ** 0.5  # t of one degree of freedom; as many train
    assert stored["low"] == pytest.approx(sum(runs) / 2 - half, abs=1e-4)
    assert [float(number) for number in shown.groups()] == pytest.approx(
        [max(0, stored["low"]), min(1, stored["high"])], abs=5e-4
    )


def test_intervals_are_clipped_to_0_and_1():
    line = {"metric": "accuracy", "method": "none", "mean": 0.6, "deviation": 0.2, "low": -0.3, "high": 1.5}
    cells = _cells(line | dict.fromkeys(("difference", "p", "p_wilcoxon")))
    assert cells == ["accuracy", "none", "0.600 ± 0.200", "0.000 .. 1.000", "", "", ""]


def test_what_every_layer_loses_is_said(call, folder):
    """Two folds of 40 edges: a run sees 20 of the target, and half of all others."""
    words = ["evaluate", "data.csv", *QUICK, "--policy", "none", "--target", "noise1", "--quiet", "-o", "half.jsonl"]
    _, out, _ = call(*words, "--trials", "1", cwd=folder)
    assert "1/2 of the edges of every layer: it saw 20 of 40" in " ".join(out.split())
    assert "in 2 runs" in " ".join(out.split())
    shown = json.loads(call(*words, "--trials", "1", "--resume", "--json", cwd=folder)[1])
    assert (shown["train_edges"], shown["test_edges"]) == (20, 20)
    assert "1/2 of the edges of every layer" in (folder / "half.html").read_text()


def test_a_single_run_has_no_deviation(call, folder):
    """Trained up to the time 5, in one run: 30 edges come before or at 5, and 10 later."""
    mx = bx.read(folder / "data.csv").subset(layers=["noise1"])
    frame = mx.to_pandas().assign(time=[5] * 30 + [6] * 10)
    frame.to_csv(folder / "timed.csv", index=False)
    words = ["evaluate", "timed.csv", *QUICK, "--policy", "none", "--after", "5", "--trials", "1", "--quiet"]
    _, out, error = call(*words, cwd=folder)
    text = " ".join(out.split())
    assert not error
    assert "in 1 run;" in text
    assert "±" not in next(line for line in out.splitlines() if line.startswith("roc_auc"))
    assert "the 30 linked pairs of the targets up to 5, and were tested on 10 later" in text


def test_one_layer_has_nothing_to_compare(call, folder):
    bx.write(bx.read(folder / "data.csv").subset(layers=["noise1"]), folder / "one.csv")
    words = ["evaluate", "one.csv", *QUICK, "--trials", "1"]
    first, note = call(*words, cwd=folder)[2].splitlines()[:2]
    assert first == "banditplex: reading one.csv; then 4 fits: uniform and default, 1 trial of 2 folds."
    assert all(word in note for word in ("one.csv", "single layer"))
    assert "single" not in call(*words, "--policy", "all", cwd=folder)[2]


def test_resuming_without_a_file_starts_a_new_run(call, folder):
    words = ["evaluate", "data.csv", *QUICK, "--policy", "none", "--trials", "1", "-o", "begun.jsonl", "--resume"]
    words += ["--target", "noise1"]
    status, _, error = call(*words, cwd=folder)
    assert status == 0
    begin, note, first, _ = error.splitlines()
    assert begin == "banditplex: reading data.csv; then up to 2 fits: none, 1 trial of 2 folds."
    assert all(word in note for word in ("begun.jsonl", "resume"))
    assert first.startswith("1/2  trial 0")
    assert note not in call(*words, cwd=folder)[2]
    assert "nothing to resume" not in call(*words, "-o", "x.jsonl", "--epochs", "0", cwd=folder)[2]


def test_ctrl_c_shows_how_to_resume(call, folder, monkeypatch):
    def interrupted(*_, **__):
        yield {"scope": "mean"}
        raise KeyboardInterrupt

    monkeypatch.setattr("banditplex.evaluation.evaluate", interrupted)
    status, _, error = call("evaluate", "data.csv", *QUICK, "-o", "x.jsonl", cwd=folder)
    assert status == 130
    again = f"banditplex evaluate data.csv {' '.join(QUICK)} -o x.jsonl --resume"
    assert "1 of 8 runs" in error
    assert error.endswith(f"{again}\n")
    assert "nothing was kept, as there is no -o" in call("evaluate", "data.csv", *QUICK, cwd=folder)[2]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--policy", "unifrom"], ["policy", "'unifrom'", "'uniform'"]),
        (["--policy", "uniform,uniform"], ["policies", "uniform,uniform"]),
        (["--metric", "auc"], ["metric", "roc_auc", "auc"]),
        (["--trials", "0"], ["--trials", "'0'"]),
        (["--folds", "1"], ["--folds", "'1'"]),
        (["--folds", "41"], ["41 edges", "41 folds", "'g1-base'", "got 40"]),
        (["--hide", "edge"], ["--hide", "layer, pair", "'edge'", "triples", "--split fixed"]),
        (["--negatives", "easy"], ["negatives", "uniform, degree, hard", "'easy'"]),
        (["--target", "g1"], ["layer", "'g1'"]),
        (["--engine", "threads"], ["engine", "'threads'"]),
        (["--jobs", "0"], ["jobs", "got 0"]),
        (["--epochs", "0"], ["epochs", "got 0"]),
        (["-k", "9"], ["k", "1 to 2", "got 9"]),
        (["--warmup", "-1"], ["warmup", "got -1"]),
        (["--relevance", "cosin"], ["relevance", "'cosin'", "'cosine'"]),
        (["--policy", "fixed"], ["layers", "'fixed'"]),
        (["--policy", "fixed", "--policy-option", 'layers=["g1"]'], ["layer", "'g1'"]),
        (["--policy-option", 'layers=["g1-base"]'], ["uniform", "default", "'layers'"]),
        (["--policy-option", "raw_range"], ["--policy-option", "'raw_range'"]),
        (["--policy-option", "raw_range=true"], ["uniform", "default", "'raw_range'"]),
        (["--policy-option", "k=2"], ["uniform", "default", "'k'"]),
        (["--policy", "epsilon-greedy", "--policy-option", "epsilon=2"], ["epsilon", "0 to 1"]),
        (["-o", "data.csv"], ["data.csv", "resume"]),
        (
            ["-o", "rows.jsonl", "--resume", "--policy", "none,uniform,all", "--seed", "7"],
            ["rows.jsonl", "seed was 0, now 7", "methods all was not given"],
        ),
        (["-o", "no/where.jsonl"], ["no/where.jsonl", "folder no"]),
        (["--resume"], ["-o FILE", "--resume"]),
    ],
    ids=lambda value: " ".join(value) if str(value[0]).startswith("-") else "",
)
def test_refusals(refusal, folder, finished, words, values):
    message = refusal("evaluate", "data.csv", *QUICK, "--quiet", *words, cwd=folder)
    assert [value for value in values if value not in message] == []


@pytest.mark.parametrize(
    "words", ["--trials 0", "--folds 1", "--jobs 0", "--engine threads", "--negatives easy", "--hide edge", "-o no/x"]
)
def test_what_no_data_could_mend_is_refused_before_they_are_looked_for(refusal, tmp_path, words):
    flag, value = words.split()
    message = refusal("evaluate", "nowhere", "--hide", "layer", flag, value, cwd=tmp_path)
    assert [each for each in (flag.strip("-"), value, "nowhere") if each in message] == [flag.strip("-"), value]


@pytest.mark.parametrize("data", ["data.csv", "empty"])
def test_data_without_a_split_of_their_own(refusal, folder, data):
    (folder / "empty").mkdir(exist_ok=True)
    message = refusal("evaluate", data, "--hide", "layer", "--split", "fixed", "--quiet", cwd=folder)
    assert all(word in message for word in (data, "split", "train.txt, valid.txt and test.txt")), message


def test_data_that_are_not_there_are_not_said_to_be_read(refusal, tmp_path):
    assert refusal("evaluate", "nowhere", "--hide", "layer", cwd=tmp_path).startswith("nowhere: no such file")


def test_missing_ray(refusal, folder, monkeypatch):
    monkeypatch.setattr("banditplex.jobs.engine.find_spec", lambda name: None)
    assert "pip install banditplex[ray]" in refusal("evaluate", "data.csv", *QUICK, "--engine", "ray", cwd=folder)


def test_hide_must_be_chosen(call, folder):
    status, _, error = call("evaluate", "data.csv", cwd=folder)
    assert "layer|pair" in error
    assert status == 2
    assert "--hide" in error
