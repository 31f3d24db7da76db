"""`banditplex train` and `predict` as a user meets them.

Most commands run in this process, since a new one takes seconds to import torch; two run in processes of their own.
"""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import typer

import banditplex as bx
from banditplex import bandits, runs
from banditplex.cli import app
from banditplex.cli.options import POLICIES, RELEVANCES
from banditplex.errors import InputError
from banditplex.nn import relevance
from banditplex.persistence.checkpoint import FILE, read_checkpoint
from banditplex.training.config import Config
from tests.cli.test_main import answer
from tests.persistence.killed import multiplex

FAST = ("--epochs", "3", "--warmup", "1", "--width", "0", "--batch-size", "64")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of ours, and a finished run."""
    folder = tmp_path_factory.mktemp("cli")
    bx.write(multiplex(), folder / "data.bx")
    return folder


@pytest.fixture(scope="module")
def trained(place):
    """What `train --json` says about the run in the folder."""
    words = ("train", "data.bx", "-o", "run", "--target", "a", "--target", "c", *FAST, "--json")
    return json.loads(answer(*words, cwd=place))


@pytest.fixture(scope="module")
def model(place, trained):
    return runs.load(place / "run")


# Training


def test_train_is_fit_and_save(place, trained, model):
    same = bx.LinkPredictor(epochs=3, warmup=1, width=0, batch_size=64).fit(multiplex(), ["a", "c"])
    pairs = np.stack(np.triu_indices(20, 1), 1)
    assert model.score_pairs(pairs, "c").tolist() == same.score_pairs(pairs, "c").tolist()
    assert (trained["run"], trained["directed"], trained["epochs"]) == ("run", False, 3)
    assert [row["target"] for row in trained["targets"]] == ["a", "c"]
    for row in trained["targets"]:
        expected = same.layer_probabilities_.loc[row["target"]].drop(row["target"])
        assert row["layer_probabilities"] == pytest.approx(expected.to_dict())
        likely = list(row["layer_probabilities"].values())
        assert likely == sorted(likely, reverse=True)


def test_the_validation_told_is_that_of_the_weights_kept(place, trained):
    best = read_checkpoint(place / "run" / FILE)["state"]["best"]
    assert trained["best_epoch"] == best["chosen"]
    history = bx.LinkPredictor.load(place / "run").history_
    row = history[(history["epoch"] == best["chosen"]) & (history["layer"] == "c")].iloc[0]
    assert trained["targets"][1]["validation_loss"] == row["validation_loss"]


def test_an_old_run_is_kept_unless_it_is_to_go(place, trained, refusal):
    before = (place / "run" / FILE).read_bytes()
    message = refusal("train", "data.bx", "-o", "run", cwd=place)
    assert message == "run: exists; continue it with --resume, or begin anew with --force."
    assert "k was 1, now 2" in refusal("train", "data.bx", "-o", "run", "--resume", "-k", "2", cwd=place)
    assert (place / "run" / FILE).read_bytes() == before


def test_resuming_a_finished_run_changes_nothing(place, trained, call):
    before = {path.name: path.read_bytes() for path in (place / "run").iterdir()}
    status, text, error = call("train", "data.bx", "-o", "run", "--resume", cwd=place)
    assert (status, error) == (0, "")
    assert "undirected" in text
    assert "run: 3 epochs" in text
    assert call("train", "data.bx", "-o", "run", "--resume", "--quiet", cwd=place) == (0, "", "")
    assert {path.name: path.read_bytes() for path in (place / "run").iterdir()} == before


def test_resuming_nothing_begins_and_says_so(place, call):
    words = ("train", "data.bx", "-o", "begun", "--target", "a", *FAST, "--resume")
    status, text, error = call(*words, cwd=place)
    assert (status, error) == (0, "banditplex: begun: nothing to resume; starting a new run.\n")
    assert "begun: 3 epochs" in text
    assert call(*words, cwd=place)[2] == ""


def test_a_run_called_like_its_data_goes_on(tmp_path, call):
    words = ("train", "twins", "-o", "twins", "--target", "a", "--epochs", "1", "--width", "0", "--quiet")
    assert call(*words, cwd=tmp_path) == (0, "", "")
    assert call(*words, "--resume", cwd=tmp_path) == (0, "", "")


def test_ctrl_c_leaves_a_run_that_goes_on(place, refusal):
    """In a terminal, where a bar is drawn: interrupted, status 130, one line says how to continue."""
    options = ["--epochs", "5000", "--patience", "5000", "--target", "a", "--width", "0"]
    command = [sys.executable, "-m", "banditplex", "train", "data.bx", "-o", "stopped", *options]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=theirs) as child:
        os.close(theirs)
        said: list[bytes] = []
        reader = threading.Thread(target=read_all, args=(ours, said))
        reader.start()
        deadline = time.monotonic() + 120
        while epochs_kept(place / "stopped" / FILE) < 2 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    reader.join()
    os.close(ours)
    text = b"".join(said).decode()
    epoch = epochs_kept(place / "stopped" / FILE)
    assert epoch >= 2
    assert "Training" in text
    again = f"banditplex train data.bx -o stopped {' '.join(options)} --resume"
    assert f"banditplex: stopped after epoch {epoch}; go on with: {again}\r\n" in text
    assert "training has not ended" in refusal("predict", "stopped", "--layer", "a", "--top", "3", cwd=place)


def epochs_kept(path):
    return read_checkpoint(path)["state"]["epoch"] if path.exists() else 0


def read_all(terminal: int, parts: list[bytes]) -> None:
    """Read a terminal until nobody writes to it any more, which it says with an error."""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            parts.append(part)


def test_a_stopped_run_keeps_its_settings(tmp_path):
    """Settings that --resume leaves out are as they were; the result is that of a run left alone."""
    mx, settings = multiplex(), {"epochs": 4, "warmup": 1, "k": 2, "width": 0, "seed": 3, "policy": "exp3+"}

    def stop(model, row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.train(mx, tmp_path / "stopped", targets=["b"], settings=settings, on_epoch=stop)
    assert not (tmp_path / "stopped" / "model.json").exists()
    runs.train(mx, tmp_path / "stopped", resume=True)
    runs.train(mx, tmp_path / "whole", targets=["b"], settings=settings)
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert names == {FILE, "model.json", "graph.safetensors", "policy.safetensors", "weights.safetensors"}
    for name in names:
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_force_removes_the_run_and_nothing_else_and_not_for_bad_input(tmp_path):
    mx, settings = multiplex(), {"epochs": 1, "width": 0}
    runs.train(mx, tmp_path, settings=settings)
    (tmp_path / "notes.txt").write_text("mine")
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InputError, match="Unknown policy"):
        runs.train(mx, tmp_path, settings={**settings, "policy": "exp33"}, force=True)
    assert (tmp_path / FILE).read_bytes() == before
    runs.train(mx, tmp_path, settings={**settings, "seed": 1}, force=True)
    assert (tmp_path / FILE).read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_does_not_move_into_a_folder_or_file_of_the_user(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="expected a new or empty folder"):
        runs.train(multiplex(), tmp_path)
    with pytest.raises(InputError, match="expected a folder, got a file"):
        runs.train(multiplex(), tmp_path / "notes.txt", settings={"width": 0}, force=True)


def test_a_draft_that_was_cut_off_is_no_run(tmp_path):
    (tmp_path / "checkpoint.safetensors.new").write_bytes(b"half")
    runs.train(multiplex(), tmp_path, settings={"epochs": 1, "width": 0})
    assert not (tmp_path / "checkpoint.safetensors.new").exists()


def test_directions_are_merged_on_request_only(tmp_path, call, refusal):
    ends = np.random.default_rng(1).integers(0, 30, (2, 200))
    mx = bx.Multiplex.from_edges(*ends, np.repeat(["a", "b"], 100), num_nodes=30, directed=True, self_loops="drop")
    bx.write(mx, tmp_path / "arcs.bx")
    assert ", directed" in call("train", "arcs.bx", "-o", "arcs", *FAST, cwd=tmp_path)[1]
    assert ", undirected" in call("train", "arcs.bx", "-o", "edges", "--undirected", *FAST, cwd=tmp_path)[1]
    assert "directed was False, now True" in refusal("train", "arcs.bx", "-o", "edges", "--resume", cwd=tmp_path)


def test_layers_and_prices_are_given_by_name(tmp_path, call, refusal):
    bx.write(multiplex(), tmp_path / "data.bx")
    words = ("train", "data.bx", "--target", "a", "--epochs", "1", "--width", "0", "--json")
    result = json.loads(call(*words, "-o", "fixed", "--layers", "c,b", cwd=tmp_path)[1])
    assert result["targets"][0]["layer_probabilities"] == {"b": 1, "c": 1, "d": 0}
    assert call(*words, "-o", "fixed", "--layers", "c", "--layers", "b", "--resume", cwd=tmp_path)[0] == 0
    assert call(*words, "-o", "cheap", "--price", "c=2", "--price", "b=0.5", cwd=tmp_path)[0] == 0
    assert call(*words, "-o", "edges", "--policy", "cost-aware", cwd=tmp_path)[0] == 0
    bad = (*words, "-o", "x")
    assert "Expected layers (--layers)" in refusal(*bad, "--policy", "fixed", cwd=tmp_path)
    assert "Unknown layer 'z'" in refusal(*bad, "--layers", "b,z", cwd=tmp_path)
    for price in ("c=much", "c=0", "=1", "c"):
        assert f"with a number above 0, got '{price}'" in refusal(*bad, "--price", price, cwd=tmp_path)
    message = refusal(*bad, "--policy", "exp3", "--layers", "b", cwd=tmp_path)
    assert message == "Expected --layers with --policy fixed, got it with --policy exp3."


def test_help_shows_what_the_library_does():
    """The help is written down, as asking the library takes seconds; here it is asked."""
    command = typer.main.get_command(app).commands["train"]
    shown = {option.name: option.show_default for option in command.params if isinstance(option.show_default, str)}
    defaults = {field.name: field.default for field in fields(Config) if field.name in shown}
    settings = {name: f"no-{name}" if value is False else str(value) for name, value in defaults.items()}
    assert settings == {name: shown[name] for name in shown if name not in ("target", "price")}
    assert set(POLICIES) == set(bandits.base.POLICIES)
    assert set(RELEVANCES) == set(relevance.RELEVANCES)


def test_what_the_user_can_mend(place, refusal):
    assert "twinz" in refusal("train", "twinz", "-o", "x", cwd=place)
    assert "Unknown policy 'banditt'" in refusal("train", "data.bx", "-o", "x", "--policy", "banditt", cwd=place)
    assert "KEY=VALUE" in refusal("train", "data.bx", "-o", "x", "--policy-option", "arms", cwd=place)
    assert not (place / "x").exists()


@pytest.mark.parametrize(
    ("settings", "targets", "message"),
    [
        ({"k": 9}, None, "Expected k from 1 to 3, the number of other layers, got 9"),
        ({"k": 0}, None, "Expected k from 1 to 3, the number of other layers, got 0"),
        ({"k": -1}, None, "Expected k from 1 to 3, the number of other layers, got -1"),
        ({"policy": "fixed"}, None, "layers"),
        ({"policy_options": {"rate": 1}}, None, "must be given no options; got 'rate'"),
        ({"relevance": "cosin"}, None, "cosin"),
        ({"epochs": 0}, None, "epochs"),
        ({}, ["z"], "'z'"),
    ],
)
def test_bad_settings_leave_nothing_behind(settings, targets, message, tmp_path):
    with pytest.raises(InputError, match=message):
        runs.train(multiplex(), tmp_path / "x", targets=targets, settings=settings)
    assert not (tmp_path / "x").exists()


# Predicting


def test_predict_pairs(place, model, call, refusal):
    (place / "pairs.csv").write_text("source,target\n0,1\n3,9\n12,4\n")
    pairs = [[0, 1], [3, 9], [12, 4]]
    words = ("predict", "run", "--layer", "c", "--pairs", "pairs.csv", "-o", "out.csv")
    assert call(*words, cwd=place) == (0, "out.csv: 3 pairs\n", "")
    table = pd.read_csv(place / "out.csv")
    assert table.columns.tolist() == ["source", "destination", "probability", "score"]
    assert table[["source", "destination"]].to_numpy().tolist() == pairs
    assert table["score"].tolist() == pytest.approx(model.score_pairs(pairs, "c").tolist())
    assert table["probability"].tolist() == pytest.approx(model.predict_proba(pairs, "c").tolist())
    assert "exists" in refusal("predict", "run", "--layer", "c", "--top", "2", "-o", "out.csv", cwd=place)
    status, text, _ = call(*words, "--force", "--json", cwd=place)
    assert (status, json.loads(text)) == (0, {"out": "out.csv", "layer": "c", "pairs": 3})


def test_predict_top_to_stdout(place, model, call):
    words = ("predict", "run", "--layer", "a", "--top", "4", "--prior", "0.1")
    rows = json.loads(call(*words, "--json", cwd=place)[1])
    expected = model.recommend("a", top=4, prior=0.1)
    assert [[row["source"], row["destination"]] for row in rows] == expected.iloc[:, :2].to_numpy().tolist()
    assert [row["probability"] for row in rows] == pytest.approx(expected["probability"].tolist())
    lines = call(*words, cwd=place)[1].splitlines()
    assert lines[0] == "source,destination,probability,score"
    assert len(lines) == 5


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_of_every_kind(ending, model, tmp_path):
    path = tmp_path / f"pairs.{ending}"
    runs.write_table(pd.DataFrame({"source": [5, 6], "destination": [7, 8], "more": ["x", "y"]}), path)
    table = runs.predict(model, "a", pairs=path)
    assert table["score"].tolist() == model.score_pairs([[5, 7], [6, 8]], "a").tolist()


def test_names_stay_what_they_are(tmp_path):
    """Names like NA and 007 are names, not gaps and numbers."""
    ends = np.random.default_rng(0).integers(0, 12, (2, 80))
    names = np.array(["NA", "007", "7", *"abcdefghi"], dtype=object)
    mx = bx.Multiplex.from_edges(names[ends[0]], names[ends[1]], np.repeat([1, 2], 40), self_loops="drop")
    model = runs.train(mx, tmp_path / "run", targets=["2"], settings={"epochs": 1, "width": 0})
    (tmp_path / "pairs.tsv").write_text("source\ttarget\nNA\t007\n7\ta\n")
    table = runs.predict(runs.load(tmp_path / "run"), "2", pairs=tmp_path / "pairs.tsv")
    assert table[["source", "destination"]].to_numpy().tolist() == [["NA", "007"], ["7", "a"]]
    assert table["score"].tolist() == model.score_pairs([["NA", "007"], ["7", "a"]], 2).tolist()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "source,target\n0,1\n0,99\n", "p.csv, line 3, column 'target': unknown node '99'; did you mean '9'?"),
        ("p.csv", "target,source\n\n\nx,1\n", "p.csv, line 4, column 'target': unknown node 'x'. Known nodes: 0, 1,"),
        ("p.csv", "source,destination\n0,01\n", "p.csv, line 2, column 'destination': unknown node '01'"),
        ("p.csv", "source,target\n0,1\n5,5\n", "p.csv, line 3: expected two different nodes, got '5' twice"),
        ("p.csv", "source,target\n0,1\n5\n", "p.csv, line 3: expected 2 columns (source, target), got 1"),
        ("p.csv", "source,target\n0,1\n5,\n", "p.csv, line 3: expected a name as destination, got an empty cell"),
        ("p.csv", "from,to\n0,1\n", "expected a column 'source' for source, got columns 'from', 'to'"),
        ("p.csv", "", "p.csv: expected a header and rows, got an empty file"),
        ("p.parquet", "no", "p.parquet: expected a Parquet file"),
        ("p.txt", "0 1\n", "ends in .csv, .tsv or .parquet"),
    ],
)
def test_bad_pairs(name, text, message, model, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        runs.predict(model, "a", pairs=tmp_path / name)


def test_pairs_in_columns_of_other_names(place, model, call, refusal):
    (place / "transfers.csv").write_text("from,to,amount\n0,1,5\n2,3,7\n")
    words = ("predict", "run", "--layer", "a", "--pairs", "transfers.csv")
    message = refusal(*words, cwd=place)
    assert message.endswith("'from', 'to', 'amount'; source=NAME (--columns source=NAME) if it has another name")
    status, out, _ = call(*words, "--columns", "source=from,target=to", "--json", cwd=place)
    assert status == 0
    assert [row["score"] for row in json.loads(out)] == model.score_pairs([[0, 1], [2, 3]], "a").tolist()
    message = refusal("predict", "run", "--layer", "a", "--top", "1", "--columns", "source=from", cwd=place)
    assert message == "Expected --columns with --pairs FILE, whose columns it names, got it without."
    assert refusal("predict", "run", "--layer", "a", cwd=place).endswith("--top N, got neither.")


def test_pairs_of_an_empty_table(model, tmp_path):
    (tmp_path / "p.csv").write_text("source,target\n")
    assert len(runs.predict(model, "a", pairs=tmp_path / "p.csv")) == 0


def test_one_question_at_a_time(tmp_path, refusal):
    """Said before the model is looked for."""
    for words in ((), ("--top", "3", "--pairs", "p.csv")):
        message = refusal("predict", "nowhere", "--layer", "a", *words, cwd=tmp_path)
        assert message.startswith("Expected either --pairs FILE or --top N, got ")
    message = refusal("predict", "nowhere", "--layer", "a", "--top", "3", "--force", cwd=tmp_path)
    assert message == "Expected --force with -o FILE, which it replaces, got it without."


def test_epochs_in_words():
    assert runs.in_words({"epochs": 1, "best_epoch": 1}) == "1 epoch."
    assert (
        runs.in_words({"epochs": 3, "best_epoch": 2})
        == "3 epochs, weights of epoch 2, the last that was as good as the best in validation."
    )


def test_what_cannot_be_predicted(model, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        runs.predict(model, "a", pairs=tmp_path / "p.csv")
    with pytest.raises(InputError, match="target of training"):
        runs.predict(model, "b", top=3)
    with pytest.raises(InputError, match=r"model\.json"):
        runs.load(tmp_path)
