"""`banditplex train` as a user meets it.

Most commands run in this process, since a new one takes seconds to import torch; one runs in a process of its own.
"""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import typer

import banditplex as bx
from banditplex.cli import app
from banditplex.cli.gains import gain_lines
from banditplex.cli.train import GAINS, _length, fit_in
from banditplex.datasets import planted
from banditplex.persistence.checkpoint import read_checkpoint
from banditplex.persistence.index import CHECKPOINT as FILE
from banditplex.persistence.run_folder import RunFolder
from banditplex.training.config import SETTINGS
from tests.cli.conftest import FAST
from tests.persistence.killed import multiplex
from tests.refusals import refuses
from tests.storage.drafts import dead_draft


def train(mx, folder, *, targets=None, settings=None, **options):
    return fit_in(RunFolder(folder), mx, targets, settings or {}, **options)


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
        assert row["k"] == same.k_[row["target"]]
        fitted = same._fitted
        used = fitted.layers[fitted.instance(row["target"])][: row["k"]].tolist()
        assert sorted(row["layers_used"]) == sorted(fitted.layer_names[layer] for layer in used)


def test_quick_is_one_network_of_few_epochs_unless_given(place, call, monkeypatch):
    words = ("train", "data.bx", "--target", "a", "--quick", "--json", "-o")
    status, text, error = call(*words, "quick", cwd=place)
    assert (status, error) == (0, "")
    assert json.loads(text)["epochs"] <= 20
    assert RunFolder(place / "quick").settings()["epochs"] == 20
    assert len(RunFolder(place / "quick").progress().networks) == 1
    monkeypatch.setattr("banditplex.cli.train.SILENT", 0.0)
    status, text, error = call(*words, "shorter", "--epochs", "2", cwd=place)
    assert json.loads(text)["epochs"] == 2
    assert [line.split(": loss")[0] for line in error.splitlines()] == [
        "banditplex: finding layers that help: 50 % done",
        "banditplex: epoch 1 of at most 2", "banditplex: epoch 2 of at most 2",
        "banditplex: epoch 2 was the last; finishing the model",
    ]  # as stderr is no terminal  # fmt: skip


def test_gains_are_told_and_kept(place, trained, model, call):
    gains = model.layer_gains_
    assert pd.read_csv(place / "run" / GAINS).equals(gains)
    for row in trained["targets"]:
        expected = gains[gains["target"] == row["target"]]
        assert [each["layer"] for each in row["gains"]] == expected["layer"].tolist()
        assert [each["gain"] for each in row["gains"]] == expected["gain"].tolist()
    _, text, _ = call("train", "data.bx", "-o", "run", "--resume", cwd=place)
    said = [text.index(line) for line in gain_lines(gains)]
    assert max(said) < text.index("looked at in detail")
    helping = set(gains[gains["helps"]][["target", "layer"]].itertuples(index=False, name=None))
    for row in trained["targets"]:
        line = next(line for line in text.splitlines() if line.startswith(f"{row['target']} "))
        for layer in row["layers_used"]:
            words = line[line.index(f" {layer}", 2) :].partition("(")[2].partition(")")[0]
            assert words in (("helps", "help") if (row["target"], layer) in helping else ("no gain shown",))
        assert (row["target"] in text.partition("better than chance")[2]) == (not row["clear"])
    assert "run/layer_gains.csv" in text


def test_the_validation_told_is_that_of_the_weights_kept(place, trained):
    kept = read_checkpoint(place / "run" / FILE)["state"]["early_stopping"]["kept_epoch"]
    assert trained["kept_epochs"] == [kept]
    history = bx.LinkPredictor.load(place / "run").history_
    row = history[(history["epoch"] == kept) & (history["layer"] == "c")].iloc[0]
    assert trained["targets"][1]["validation_loss"] == row["validation_loss"]


def test_an_old_run_is_kept_unless_it_is_to_go(place, trained, refusal):
    before = (place / "run" / FILE).read_bytes()
    message = refusal("train", "data.bx", "-o", "run", cwd=place)
    assert "run: exists" in message
    assert "--resume" in message
    assert "--force" in message
    assert "k was 'auto', now 2" in refusal("train", "data.bx", "-o", "run", "--resume", "-k", "2", cwd=place)
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
    assert status == 0
    assert "begun" in error
    assert "begun: 3 epochs" in text
    assert call(*words, cwd=place)[2] == ""


def test_notes_on_reading_are_kept_with_the_run(tmp_path, call):
    """The same in the JSON of `train` and in the run folder, quiet or not; `predict` reads tables as `train` did."""
    rng = np.random.default_rng(0)
    rows = [f"{u};{v};{kind}" for kind in "xy" for u, v in rng.integers(0, 20, (60, 2)) if u != v]
    (tmp_path / "net.csv").write_text("\n".join(["von;an;Art", *rows, rows[0]]) + "\n")
    words = (
        "train",
        "net.csv",
        "-o",
        "run",
        "--columns",
        "source=von,target=an,layer=Art",
        "--no-bipartite",
        "--quiet",
    )
    status, text, said = call(*words, *FAST, "--target", "x", "--json", cwd=tmp_path)
    assert (status, said) == (0, "")
    notes = json.loads(text)["notes"]
    assert notes[:2] == [
        "net.csv: columns used: 'von' as source, 'an' as target, 'Art' as layer.",
        "net.csv: read with semicolons.",
    ]
    assert f"of {len(rows) + 1} rows merged" in notes[2]
    assert "--directed keeps" in notes[2]
    folder = RunFolder(tmp_path / "run")
    assert folder.notes() == notes
    assert folder.reading() == {"columns": ["source=von,target=an,layer=Art"], "bipartite": False}
    (tmp_path / "pairs.csv").write_text("von;an\n0;1\n")
    assert json.loads(call("predict", "run", "--pairs", "pairs.csv", "--json", cwd=tmp_path)[1])[0]["source"] == 0
    (tmp_path / "later.csv").write_text("von,an,Art\n0,99,x\n")
    status, _, said = call("predict", "run", "--context", "later.csv", "--node", "99", cwd=tmp_path)
    assert status == 0
    assert "later.csv: 1 node that training did not have, as 99." in said


def test_later_edges_of_a_wide_table_are_read_as_those_of_training(tmp_path, call):
    """A wide table, and one with a column of layers."""
    table = multiplex().to_pandas()
    wide = pd.crosstab([table["source"], table["destination"]], table["layer"]).reset_index()
    wide.to_csv(tmp_path / "net.csv", index=False)
    words = ("train", "net.csv", "-o", "run", "--wide", "--target", "a", "--quiet", *FAST)
    assert call(*words, cwd=tmp_path)[0] == 0
    names = sorted(set(table["layer"]))
    (tmp_path / "wide.csv").write_text(f"source,destination,{','.join(names)}\n0,99,1{',0' * (len(names) - 1)}\n")
    (tmp_path / "tall.csv").write_text("source,destination,Layer\n0,99,a\n")
    found = []
    for later in ("wide.csv", "tall.csv"):
        status, out, said = call("predict", "run", "--context", later, "--node", "99", "--top", "3", cwd=tmp_path)
        assert status == 0, said
        found.append(out)
    assert found[0] == found[1]
    assert found[0].count("\n") == 4


def test_resuming_needs_no_columns_again_and_trains_longer(tmp_path, call, refusal):
    table = multiplex().to_pandas().rename(columns={"source": "from", "destination": "to", "layer": "kind"})
    table.assign(layer="x", source=table["to"], target=table["from"]).to_csv(tmp_path / "t.csv", index=False)
    columns = ("--columns", "source=from,target=to,layer=kind")
    words = ("train", "t.csv", "-o", "run", "--width", "0", "--target", "a")
    assert call(*words, *columns, "--epochs", "2", "--quiet", cwd=tmp_path) == (0, "", "")
    short = RunFolder(tmp_path / "run").progress().history
    status, text, note = call(*words, "--resume", "--epochs", "4", cwd=tmp_path)
    assert status == 0
    assert "run: 4 epochs" in text
    for said in ("after epoch 2", "4 epochs instead of 2", "50%"):  # (1 + cos(pi / 2)) / 2
        assert said in note
    history = RunFolder(tmp_path / "run").progress().history
    assert [row["epoch"] for row in history] == [1, 2, 3, 4]
    assert [row["train_loss"] for row in history[:2]] == [row["train_loss"] for row in short]
    assert "goes on" not in call(*words, "--resume", cwd=tmp_path)[2]
    assert "epochs was 4, now 3" in refusal(*words, "--resume", "--epochs", "3", "--quiet", cwd=tmp_path)
    message = refusal(*words, "--resume", "--columns", "layer=layer", "--quiet", cwd=tmp_path)
    assert "data of this run, with a layer 'a', got 'x'" in message
    assert call(*words, "--resume", "--quiet", cwd=tmp_path) == (0, "", "")  # a refusal leaves the options as they were


def test_early_stopping_ends_a_longer_training_too(tmp_path, call):
    bx.write(multiplex(), tmp_path / "data.bx")
    words = ("train", "data.bx", "-o", "run", "--resume")
    first = ("--epochs", "9", "--patience", "1", "--learning-rate", "0", "--width", "0", "--target", "a", "--quiet")
    assert call(*words, *first, cwd=tmp_path)[0] == 0
    done = RunFolder(tmp_path / "run").progress().epoch
    assert done < 9
    note = call(*words, "--epochs", "12", cwd=tmp_path)[2]
    assert f"early stopping ended training after epoch {done}; --patience above 1" in note
    assert RunFolder(tmp_path / "run").progress().epoch == done
    note = call(*words, "--epochs", "13", "--patience", "2", cwd=tmp_path)[2]
    assert "13 epochs instead of 9" in note
    assert RunFolder(tmp_path / "run").progress().epoch == done + 1


def test_a_run_called_like_its_data_goes_on(tmp_path, call):
    words = ("train", "twins", "-o", "twins", "--target", "a", "--epochs", "1", "--width", "0", "-k", "1", "--quiet")
    assert call(*words, cwd=tmp_path) == (0, "", "")
    assert call(*words, "--resume", cwd=tmp_path) == (0, "", "")


@pytest.mark.parametrize(
    ("sent", "of_ctrl_c"),
    [(signal.SIGINT, signal.SIG_DFL), pytest.param(signal.SIGTERM, signal.SIG_IGN, marks=pytest.mark.slow)],
)
def test_ctrl_c_and_sigterm_leave_a_run_that_goes_on(sent, of_ctrl_c, place, refusal):
    """In a terminal, where a bar is drawn: interrupted, status 130 or 143, one line says how to continue.

    Where Ctrl-C is ignored, as in the background of a script, the command says how to stop it.
    """
    run = f"stopped-{sent}"
    options = ["--epochs", "5000", "--patience", "5000", "--target", "a", "--width", "0"]
    command = [sys.executable, "-m", "banditplex", "train", "data.bx", "-o", run, *options]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=place, stdout=subprocess.DEVNULL, stderr=theirs,
        preexec_fn=lambda: signal.signal(signal.SIGINT, of_ctrl_c),  # the tests may run where it is ignored
    ) as child:  # fmt: skip
        os.close(theirs)
        said: list[bytes] = []
        reader = threading.Thread(target=read_all, args=(ours, said))
        reader.start()
        deadline = time.monotonic() + 120
        while epochs_kept(place / run / FILE) < 2 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(sent)
        assert child.wait(60) == 128 + sent
    reader.join()
    os.close(ours)
    text = b"".join(said).decode()
    epoch = epochs_kept(place / run / FILE)
    assert epoch >= 2
    assert "Training" in text
    again = f"banditplex train data.bx -o {run} {' '.join(options)} --resume"
    assert f"stopped after epoch {epoch}; continue with: {again}\r\n" in text
    assert (f"kill {child.pid}\r\n" in text) == (of_ctrl_c == signal.SIG_IGN)
    assert not (place / run / ".lock").exists()
    assert "--resume" in refusal("predict", run, "--layer", "a", "--top", "3", cwd=place)


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
        train(mx, tmp_path / "stopped", targets=["b"], settings=settings, on_epoch=stop)
    assert not (tmp_path / "stopped" / "model.json").exists()
    train(mx, tmp_path / "stopped", resume=True)
    train(mx, tmp_path / "whole", targets=["b"], settings=settings)
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert names == {FILE, GAINS, "model.json", "graph.safetensors", "policy.safetensors", "weights.safetensors"}
    for name in names:
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def interrupt(model, row):
    raise KeyboardInterrupt


def test_force_removes_the_run_and_nothing_else_and_not_for_bad_input(tmp_path):
    mx, settings = multiplex(), {"epochs": 1, "width": 0}
    train(mx, tmp_path, targets=["a"], settings=settings)
    (tmp_path / "notes.txt").write_text("mine")
    before = (tmp_path / FILE).read_bytes()
    with refuses("exp33"):
        train(mx, tmp_path, settings={**settings, "policy": "exp33"}, force=True)
    assert (tmp_path / FILE).read_bytes() == before
    assert (tmp_path / GAINS).exists()
    with pytest.raises(KeyboardInterrupt):
        train(mx, tmp_path, settings=settings, force=True, on_epoch=interrupt)
    assert not (tmp_path / GAINS).exists()
    train(mx, tmp_path, targets=["a"], settings={**settings, "seed": 1}, force=True)
    assert (tmp_path / FILE).read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_does_not_move_into_a_folder_or_file_of_the_user(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with refuses(tmp_path, FILE):
        train(multiplex(), tmp_path)
    with refuses(tmp_path / "notes.txt"):
        train(multiplex(), tmp_path / "notes.txt", settings={"width": 0}, force=True)


def test_a_draft_that_was_cut_off_is_no_run(tmp_path):
    draft = dead_draft(tmp_path / "checkpoint.safetensors")
    draft.write_bytes(b"half")
    train(multiplex(), tmp_path, settings={"epochs": 1, "width": 0})
    assert not draft.exists()


def test_directions_are_merged_on_request_only(tmp_path, call, refusal):
    ends = np.random.default_rng(1).integers(0, 30, (2, 200))
    mx = bx.Multiplex.from_edges(*ends, np.repeat(["a", "b"], 100), num_nodes=30, directed=True, self_loops="drop")
    bx.write(mx, tmp_path / "arcs.bx")
    assert ", directed" in call("train", "arcs.bx", "-o", "arcs", "--target", "a", *FAST, cwd=tmp_path)[1]
    words = ("train", "arcs.bx", "-o", "edges", "--undirected", "--target", "a", *FAST)
    assert ", undirected" in call(*words, cwd=tmp_path)[1]
    resume = ("train", "arcs.bx", "-o", "edges", "--resume")
    assert "directed was False, now True" in refusal(*resume, "--directed", cwd=tmp_path)
    assert call(*resume, cwd=tmp_path)[0] == 0  # read as before


def test_layers_and_prices_are_given_by_name(tmp_path, call, refusal):
    bx.write(multiplex(), tmp_path / "data.bx")
    words = ("train", "data.bx", "--target", "a", "--epochs", "1", "--width", "0", "--json")
    fixed = ("--policy", "fixed", "--policy-option", 'layers=["c", "b"]')
    result = json.loads(call(*words, "-o", "fixed", *fixed, cwd=tmp_path)[1])
    assert result["targets"][0]["layer_probabilities"] == {"b": 1, "c": 1, "d": 0}
    priced = ("--policy", "cost-aware", "--policy-option", 'prices={"c": 2, "b": 0.5}')
    assert call(*words, "-o", "cheap", *priced, cwd=tmp_path)[0] == 0
    assert call(*words, "-o", "edges", "--policy", "cost-aware", cwd=tmp_path)[0] == 0
    bad = (*words, "-o", "x")
    assert "--policy-option layers=" in refusal(*bad, "--policy", "fixed", cwd=tmp_path)
    assert "'z'" in refusal(*bad, "--policy", "fixed", "--policy-option", 'layers=["b", "z"]', cwd=tmp_path)


def test_every_setting_is_an_option_with_the_default_of_the_library():
    command = typer.main.get_command(app).commands["train"]
    shown = {option.name: option for option in command.params}
    for name, setting in SETTINGS.items():
        if name == "policy_options":
            continue  # --policy-option KEY=VALUE
        assert shown[name].help.startswith(setting.text)
        default = [*setting.choices, "none"][0] if setting.default is None else setting.default
        assert shown[name].show_default == str(default)


def test_a_setting_that_may_be_none_is_given_in_words(tmp_path, call, refusal):
    bx.write(multiplex(), tmp_path / "data.bx")
    words = ("train", "data.bx", "--target", "a", "--epochs", "1", "--quiet")
    given = ("--fanout", "none", "--max-steps", "none", "--members", "auto")
    assert call(*words, "-o", "run", *given, cwd=tmp_path) == (0, "", "")
    settings = RunFolder(tmp_path / "run").settings()
    assert (settings["fanout"], settings["max_steps"], settings["members"]) == (None, None, "auto")
    assert "'some'" in refusal(*words, "-o", "x", "--fanout", "some", cwd=tmp_path)


def test_user_errors(place, refusal):
    assert "twinz" in refusal("train", "twinz", "-o", "x", cwd=place)
    assert "'banditt'" in refusal("train", "data.bx", "-o", "x", "--policy", "banditt", cwd=place)
    assert "KEY=VALUE" in refusal("train", "data.bx", "-o", "x", "--policy-option", "arms", cwd=place)
    assert not (place / "x").exists()


@pytest.mark.parametrize(
    ("settings", "targets", "named"),
    [
        ({"k": 9}, None, ("k", "1 to 3", 9)),
        ({"k": 0}, None, ("k", "1 to 3", 0)),
        ({"k": -1}, None, ("k", -1)),
        ({"policy": "fixed"}, None, ("layers", "fixed")),
        ({"policy_options": {"rate": 1}}, None, ("'rate'",)),
        ({"relevance": "cosin"}, None, ("'cosin'", "'cosine'")),
        ({"epochs": 0}, None, ("epochs", 0)),
        ({}, ["z"], ("'z'",)),
    ],
)
def test_bad_settings_leave_nothing_behind(settings, targets, named, tmp_path):
    with refuses(*named):
        train(multiplex(), tmp_path / "x", targets=targets, settings=settings)
    assert not (tmp_path / "x").exists()


def test_the_length_of_a_training_in_words():
    known, unknown = ({"targets": [{"validation_loss": loss}]} for loss in (0.5, None))
    assert _length({"epochs": 1, "kept_epochs": [1]} | known) == "1 epoch."
    assert "epoch 2" in _length({"epochs": 3, "kept_epochs": [2]} | known)
    assert _length({"epochs": 4, "kept_epochs": [2, 4]} | unknown) == "4 epochs of 2 networks."  # no edge was held out
    two = _length({"epochs": 7, "kept_epochs": [2, 7]} | known)
    assert two.startswith("7 epochs of 2 networks; restored weights from epochs 2, 7 ")


def test_all_layers_of_a_long_panel_are_listed(tmp_path, call):
    """Given layers are the panel; ten are more than predictions have terms of."""
    bx.write(planted(12, 1, 0.8, num_nodes=40, edges_per_layer=60, communities=4), tmp_path / "data.bx")
    layers = [f"noise{number:02}" for number in range(1, 11)]
    option = f"layers={json.dumps(layers)}"
    words = ("train", "data.bx", "--target", "g1-base", "--policy", "fixed", "--policy-option", option, "--epochs", "1")
    status, text, _ = call(*words, "--json", "-o", "run", cwd=tmp_path)
    assert status == 0
    assert sorted(json.loads(text)["targets"][0]["layers_used"]) == sorted(layers)
