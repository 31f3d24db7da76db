"""Checkpoints and models that somebody made: their checksums fit, and they are wrong. One line each, before use."""

import hashlib
import json
import os
import resource
import shutil
import time

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save, save_file

from banditplex import LinkPredictor
from banditplex.errors import FormatError
from banditplex.persistence.checkpoint import FORMAT, Checkpoint, read_checkpoint
from banditplex.persistence.index import CHECKPOINT as FILE
from banditplex.persistence.model_folder import INDEX
from banditplex.report.about import read_about, write_about
from banditplex.report.kept import ABOUT as ABOUT_FILE
from banditplex.storage.tree import ABOUT, TREE, _digest, read_tree, write_tree
from tests.persistence.killed import multiplex
from tests.persistence.test_checkpoint import predictor
from tests.refusals import refuses

MODEL = predictor(epochs=2, policy="hinted", validation=0.2)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the path of a checkpoint, and a training that can go on from it."""
    folder = tmp_path_factory.mktemp("run")
    MODEL.fit(multiplex(), checkpoint=folder)
    return folder / FILE, MODEL.make_members(multiplex())


def begin(run, folder):
    Checkpoint(folder, multiplex(), run[1]).begin(resume=True)


def at(tree, *path):
    for name in path:
        tree = tree[name]
    return tree


NAN, MOMENTS = float("nan"), ("state", "optimizer", "moments")
WEIGHT = "own.linear.weight"
CRAFTED = {
    "one moment short": ((*MOMENTS, "mean"), lambda old: old[:-1], "mean"),
    "one moment long": ((*MOMENTS, "square"), lambda old: torch.cat([old, old[:1]]), "square"),
    "moments of another type": ((*MOMENTS, "mean"), lambda old: old.double(), "float64"),
    "a moment that is no number": ((*MOMENTS, "mean"), lambda old: old * NAN, "finite"),
    "a negative square": ((*MOMENTS, "square"), lambda old: old - 1, "squares"),
    "no moments": (MOMENTS, lambda old: {}, "moments"),
    "a third moment": (MOMENTS, lambda old: old | {"cube": old["mean"]}, "cube"),
    "steps done": (("state", "optimizer", "num_done"), lambda old: -10, "num_done"),
    "too many steps done": (("state", "optimizer", "num_done"), lambda old: 10**9, "steps done"),
    "a short weight": (("state", "model", WEIGHT), lambda old: old[:, 1:], WEIGHT),
    "a weight that is no number": (("state", "ema_model", WEIGHT), lambda old: old / 0, "finite"),
    "an array for a tensor": (("state", "model", WEIGHT), lambda old: old.numpy(), WEIGHT),
    "kept weights": (("state", "early_stopping", "weights", WEIGHT), lambda old: old[:, 1:], "weights"),
    "kept losses": (("state", "early_stopping", "best_loss"), lambda old: old[1:], "best_loss"),
    "a kept epoch to come": (("state", "early_stopping", "kept_epoch"), lambda old: 7, "kept_epoch"),
    "a policy that is no number": (("state", "policy", "L"), lambda old: old * NAN, "finite"),
    "a policy for fewer layers": (("state", "policy", "L"), lambda old: old[:, :1], "'L'"),
    "no policy": (("state", "policy"), lambda old: None, "policy"),
    "a kept policy": (("state", "early_stopping", "policy", "num_arms"), lambda old: 10**9, "num_arms"),
    "a layer that does not exist": (("state", "schedule", "arms"), lambda old: old + 99, "'arms'"),
    "regret": (("state", "regret", "paid"), lambda old: old[1:], "'paid'"),
    "an epoch to come": (("state", "epoch"), lambda old: 99, "epoch"),
    "no epoch": (("state", "epoch"), lambda old: "two", "epoch"),
    "a shorter history": (("state", "history"), lambda old: old[1:], "rows"),
    "a history of numbers": (("state", "history"), lambda old: [1, 2], "history"),
    "a random stream": (("state", "rng", "draws", "state", "inc"), lambda old: -1, "OverflowError"),
    "no random stream": (("state", "rng", "draws"), lambda old: 5, "draws"),
    "another generator": (("state", "rng", "draws", "bit_generator"), lambda old: "MT19937", "PCG64"),
    "layers without sizes": (("identity", "layers", "a"), lambda old: 5, "layers"),
    "no settings": (("identity", "settings"), lambda old: None, "settings"),
    "a network too many": (("finished",), lambda old: [None], "finished"),
    "generators of torch": (("generators",), lambda old: {"cpu": torch.zeros(3), "cuda": []}, "TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_checkpoint_is_refused(name, run, tmp_path):
    path, change, said = CRAFTED[name]
    kept = read_tree(run[0], format=FORMAT)
    at(kept, *path[:-1])[path[-1]] = change(at(kept, *path))
    write_tree(tmp_path / FILE, kept, format=FORMAT)
    with refuses(tmp_path / FILE, said, error=FormatError):
        begin(run, tmp_path)


def test_what_is_refused_is_the_change(run, tmp_path):
    """The same file, written again as it was, is taken."""
    write_tree(tmp_path / FILE, read_tree(run[0], format=FORMAT), format=FORMAT)
    begin(run, tmp_path)
    assert run[1].current.epoch == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 200_000, "levels"),
        ("[" * 500 + "]" * 500, "nested"),
        ('{"tuple": 5}', "TypeError"),
        ('{"dict": [[[1], 2]]}', "TypeError"),
        ('{"list": [1]}', "list"),
        ('{"array": "0", "tensor": "0"}', "ValueError"),
        ('{"array": "nowhere"}', "nowhere"),
        ('[{"array": "0"}, {"array": "0"}]', "'0'"),
        ('{"dict": [["identity", 1]]}', "'arguments'"),
        ("[1, 2]", "an object"),
        ("{", "JSON"),
        ("\xff", "an object|UTF-8|JSON"),
    ],
)
def test_a_crafted_tree_is_refused(text, said, tmp_path):
    arrays = {"0": np.zeros(4), TREE: np.frombuffer(text.encode("latin-1"), np.uint8)}
    (tmp_path / FILE).write_bytes(save(arrays, {ABOUT: f"{FORMAT}, sha256 {_digest(arrays)}"}))
    refused(lambda: read_checkpoint(tmp_path / FILE), said)


# Models


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    predictor(epochs=1, policy="exp3+", k="auto").fit(multiplex()).save(folder)
    return folder


MODELS = {
    "width": (("config", "width"), 30_000, "width"),
    "depth": (("config", "depth"), 200_000, "depth"),
    "hidden units": (("config", "hidden_units"), 10**6, "hidden_units"),
    "a negative width": (("config", "width"), -1, "width"),
    "an unknown setting": (("config", "colour"), "red", "colour"),
    "a policy for a crowd": (("policy", "num_arms"), 10**9, "num_arms"),
    "a convolution that is none": (("config", "conv"), "class DataParallel", "DataParallel"),
    "calibration that is no number": (("calibration", "factor", 0), float("nan"), "calibration.factor[0]"),
    "an endless calibration": (("calibration", "knots", 0), float("inf"), "calibration.knots[0]"),
    "calibration upside down": (("calibration", "slopes", 1), -1.0, "calibration.slopes"),
    "calibration in disorder": (("calibration", "knots"), [0.0, -1.0, 1.0, 2.0, 3.0], "rising calibration.knots"),
    "calibration without knots": (("calibration", "knots"), [], "calibration.knots"),
    "calibration of too few slopes": (("calibration", "slopes"), [1.0], "calibration.slopes"),
    "calibration of one target": (("calibration", "bias"), [0.0], "calibration.bias"),
    "a target that does not exist": (("targets", 0), 7, "targets"),
    "a target twice": (("targets", 0), 1, "distinct"),
    "too few counts": (("counts",), [1], "counts"),
    "counts beyond the layers": (("counts", 0), 9, "counts"),
    "ragged layers": (("layers", 0), [1], "layers"),
    "layers that do not exist": (("layers", 0, 0), -3, "layers"),
    "gains of nothing": (("gains", 0, "layer"), 99, "gains"),
    "a gain that no float can hold": (("gains", 0, "gain"), 10**400, "gain"),
    "a limit that no float can hold": (("gains", 0, "low"), -(10**400), "low"),
    "a slope that no float can hold": (("calibration", "slopes", 0), 10**400, "calibration.slopes"),
    "a history of a layer that does not exist": (("history", 0, "layer"), -1, "history"),
    "a loss that no float can hold": (("history", 0, "train_loss"), 10**400, "train_loss"),
    "names that are numbers": (("layer_names",), 5, "layer_names"),
    "a name twice": (("layer_names", 1), "a", "distinct"),
    "nodes that are missing": (("node_names",), [*range(39)], "encoder.input.weight|node indices"),
    "types of some nodes": (("node_types",), ["x"], "node_types"),
    "a word for a truth": (("directed",), "maybe", "directed"),
    "no checksums": (("sha256",), {}, "graph.safetensors"),
    "a history of words": (("history", 0, "epoch"), "first", "history[0].epoch"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_crafted_model_is_refused(name, saved, tmp_path):
    path, value, said = MODELS[name]
    shutil.copytree(saved, tmp_path / "m")
    index = json.loads((saved / INDEX).read_text())
    at(index, *path[:-1])[path[-1]] = value
    (tmp_path / "m" / INDEX).write_text(json.dumps(index))
    refused(lambda: LinkPredictor.load(tmp_path / "m"), said)


@pytest.mark.parametrize(
    ("file", "name", "change", "said"),
    [
        ("graph", "edge_index", lambda old: old - 7, "from 0 to 39"),
        ("graph", "edge_index", lambda old: old * 1.0, "int64"),
        ("graph", "edge_index", lambda old: old[:, ::-1].copy(), "order"),
        ("graph", "layer_offsets", lambda old: old[:-1].copy(), "layer_offsets"),
        ("weights", "own.linear.weight", lambda old: old * np.nan, "finite"),
        ("weights", "own.linear.weight", lambda old: old.astype(np.float64), "float64"),
        ("weights", "own.linear.weight", lambda old: old[:, 1:].copy(), "own.linear.weight"),
        ("policy", "L", lambda old: old * np.nan, "finite"),
        ("policy", "t", lambda old: old[1:].copy(), "'t'"),
    ],
)
def test_a_crafted_array_of_a_model_is_refused(file, name, change, said, saved, tmp_path):
    shutil.copytree(saved, tmp_path / "m")
    path = tmp_path / "m" / f"{file}.safetensors"
    arrays = load_file(path)
    save_file(arrays | {name: change(arrays[name])}, path)
    index = json.loads((saved / INDEX).read_text())
    index["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "m" / INDEX).write_text(json.dumps(index))
    refused(lambda: LinkPredictor.load(tmp_path / "m"), said)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", [INDEX, "graph.safetensors", "weights.safetensors", ABOUT_FILE])
def test_a_pipe_in_place_of_a_file_is_refused(name, saved, tmp_path):
    """Whoever reads it would wait for ever; a link to the file is followed."""
    shutil.copytree(saved, tmp_path / "m")
    model = LinkPredictor.load(saved)
    write_about(tmp_path / "m", "data", multiplex(), model)
    path = tmp_path / "m" / name
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    read_about(tmp_path / "m", LinkPredictor.load(tmp_path / "m"))
    path.unlink()
    os.mkfifo(path)
    with refuses(path, "pipe"):
        read_about(tmp_path / "m", LinkPredictor.load(tmp_path / "m"))


def test_a_pipe_in_place_of_a_checkpoint_is_refused(tmp_path):
    os.mkfifo(tmp_path / FILE)
    with refuses(tmp_path / FILE, "pipe"):
        read_checkpoint(tmp_path / FILE)


def refused(work, said):
    """Expect a FormatError of one line with one of some words, in little time and memory."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FormatError) as error:
        work()
    assert time.perf_counter() - begin < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
    assert any(each in str(error.value) for each in said.split("|")), error.value
    assert "\n" not in str(error.value)
