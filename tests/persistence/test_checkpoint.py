"""A training that is killed at any moment and resumed ends like one that was left alone, bit by bit."""

import copy
import json
import math
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import banditplex as bx
from banditplex.datasets import planted
from banditplex.errors import FormatError, InputError
from banditplex.nn import neighbour_sampling as sampling
from banditplex.persistence import checkpoint
from banditplex.persistence.checkpoint import FORMAT, check_state, read_checkpoint, restore, state_of
from banditplex.persistence.index import CHECKPOINT as FILE
from banditplex.storage.tree import pack, read_tree, unpack, write_tree
from banditplex.training.config import EVIDENCE
from tests.persistence.killed import multiplex
from tests.quick import every, only
from tests.refusals import refuses
from tests.test_predictor import unrelated_layers
from tests.training.test_loop import trainer_of

SCRIPT = Path(__file__).with_name("killed.py")


@pytest.fixture(scope="module")
def mx():
    return multiplex()


def predictor(**settings):
    return bx.LinkPredictor(**{"epochs": 3, "batch_size": 64, "width": 4, "warmup": 1, "k": 1, **settings})


# Killed processes


@pytest.mark.parametrize(("way", "at_least"), only([("some", 2)], [("random", 3), ("writing", 6), ("some", 2)]))
def test_killed_and_resumed_is_as_if_nothing_had_happened(way, at_least, tmp_path):
    """Train in processes that get killed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, SCRIPT, tmp_path, way], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "kills.json").read_text()) >= at_least
    for name in (FILE, "scores.npy", "history.txt"):
        assert (tmp_path / way / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


# Resuming


def stop_after(epoch):
    def on_epoch(model, row):
        if row["epoch"] == epoch:
            raise KeyboardInterrupt

    return on_epoch


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "exp3+", "relevance": "euclidean"},
        pytest.param({"policy": "all", "width": 0}, marks=pytest.mark.slow),
        pytest.param({"policy": "none", "conv": "gcn"}, marks=pytest.mark.slow),
        pytest.param(
            {"policy": "fixed", "policy_options": {"arms": np.array([[0], [1]])}, "validation": 0.0},
            marks=pytest.mark.slow,
        ),
        {"policy": "cost-aware", "policy_options": {"prices": [1.0, 2.0, 1.0]}},
    ],
    ids=lambda settings: settings["policy"],
)
def test_every_kind_of_state_survives(settings, mx, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        predictor(**settings).fit(mx, ["a", "c"], stop_after(2), checkpoint=tmp_path / "stopped")
    resumed = predictor(**settings).fit(mx, ["a", "c"], checkpoint=tmp_path / "stopped", resume=True)
    whole = predictor(**settings).fit(mx, ["a", "c"], checkpoint=tmp_path / "whole")
    assert (tmp_path / "stopped" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()
    pairs = [[0, 1], [2, 9], [30, 4]]
    assert resumed.score_pairs(pairs, "c").tolist() == whole.score_pairs(pairs, "c").tolist()
    assert resumed.layer_probabilities_.equals(whole.layer_probabilities_)
    assert resumed.history_.equals(whole.history_)


def test_a_checkpoint_changes_nothing(mx, tmp_path):
    kept, plain = predictor().fit(mx, checkpoint=tmp_path / "run"), predictor().fit(mx)
    assert kept.score_pairs([[0, 1], [5, 7]], "b").tolist() == plain.score_pairs([[0, 1], [5, 7]], "b").tolist()
    assert [path.name for path in (tmp_path / "run").iterdir()] == [FILE]


@pytest.mark.parametrize(("relevance", "evidence"), every(4, ["predictive", "euclidean"], EVIDENCE))
def test_a_run_can_be_resumed_with_evidence_and_without(relevance, evidence, tmp_path):
    mx = unrelated_layers(3, num_layers=4)
    settings = {"epochs": 2, "width": 4, "warmup": 0, "evidence": evidence, "relevance": relevance}
    straight = bx.LinkPredictor(**settings).fit(mx)
    stopped = bx.LinkPredictor(**settings).fit(mx, on_epoch=lambda *_: True, checkpoint=tmp_path)
    assert len(stopped.history_) == 4
    resumed = bx.LinkPredictor(**settings).fit(mx, checkpoint=tmp_path, resume=True)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(resumed.score_pairs(pairs, "a"), straight.score_pairs(pairs, "a"))


def test_a_finished_training_may_be_resumed_and_stays_as_it_is(mx, tmp_path):
    first = predictor().fit(mx, checkpoint=tmp_path)
    before = (tmp_path / FILE).read_bytes()
    again = predictor().fit(mx, checkpoint=tmp_path, resume=True)
    assert (tmp_path / FILE).read_bytes() == before
    assert again.score_pairs([[0, 1]], "a") == first.score_pairs([[0, 1]], "a")


def test_dropout_goes_on_with_the_same_draws(mx, tmp_path):
    class Leaky(torch.nn.Module):
        def __init__(self, width_in, width_out):
            super().__init__()
            self.linear = torch.nn.Linear(width_in, width_out)

        def forward(self, x, edge_index, *rest):
            return torch.nn.functional.dropout(self.linear(x), 0.5)

    scores = []
    for stop in (True, False):
        torch.manual_seed(5 + stop)
        folder = tmp_path / str(stop)
        if stop:
            with pytest.raises(KeyboardInterrupt):
                predictor(conv=Leaky).fit(mx, on_epoch=stop_after(1), checkpoint=folder)
            torch.manual_seed(7)
        predictor(conv=Leaky).fit(mx, checkpoint=folder, resume=stop)
        scores.append(read_checkpoint(folder / FILE)["state"]["model"])
    assert all(torch.equal(scores[0][name], scores[1][name]) for name in scores[0])


@pytest.mark.slow
def test_torchs_own_generators_are_seeded_by_the_run_and_left_alone(mx, tmp_path):
    """Only for a convolution that is not ours, as it may draw from them."""
    from torch_geometric.nn import SAGEConv

    states = []
    for number in (7, 8):
        torch.manual_seed(number)
        before = torch.get_rng_state()
        predictor(epochs=1, conv=SAGEConv).fit(mx, checkpoint=tmp_path / str(number))
        assert torch.equal(torch.get_rng_state(), before)
        states.append(read_checkpoint(tmp_path / str(number) / FILE)["generators"]["cpu"])
    assert torch.equal(*states)
    predictor(epochs=1, conv=SAGEConv, seed=1).fit(mx, checkpoint=tmp_path / "other")
    assert not torch.equal(read_checkpoint(tmp_path / "other" / FILE)["generators"]["cpu"], states[0])


# Snapshots


@pytest.mark.parametrize(
    ("relevance", "whole"),
    every(4, [("predictive", 4096), ("euclidean", 4096), ("cosine", 4096), ("predictive", 0), ("cosine", 0)]),
)
def test_training_goes_on_bit_for_bit_from_a_snapshot(relevance, whole, monkeypatch):
    monkeypatch.setattr(sampling, "WHOLE", whole)
    mx = planted(6, 2, 0.8, num_nodes=60, edges_per_layer=150, communities=4, seed=1)
    settings = {"relevance": relevance, "epochs": 5, "width": 8, "targets_per_step": 3, "warmup": 1, "fanout": 2}
    straight = trainer_of(mx, **settings)
    for _ in range(2):
        straight.run_epoch()
    state = copy.deepcopy(state_of(straight))
    copied = trainer_of(mx, **settings)
    restore(copied, state)
    rows, again = straight.run_epoch(), copied.run_epoch()
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(again), check_exact=True)
    for a, b in zip(straight.model.parameters(), copied.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert np.array_equal(straight.policy.inclusion(), copied.policy.inclusion())


@pytest.mark.parametrize("relevance", only(["euclidean"], ["predictive", "euclidean"]))
def test_training_goes_on_bit_for_bit_in_the_middle_of_a_draw(relevance):
    mx = planted(6, 2, 0.8, num_nodes=60, edges_per_layer=150, communities=4, seed=1)
    settings = {"epochs": 5, "width": 4, "targets_per_step": 3, "warmup": 0, "steps_per_draw": 7}
    straight, copied = (trainer_of(mx, relevance=relevance, **settings) for _ in range(2))
    straight.run_epoch()
    restore(copied, state_of(straight))
    rows, again = ([row for _ in range(2) for row in trainer.run_epoch()] for trainer in (straight, copied))
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(again), check_exact=True)
    assert all(map(torch.equal, straight.model.parameters(), copied.model.parameters()))
    assert np.array_equal(straight.policy.inclusion(), copied.policy.inclusion())


def test_what_is_restored_from_a_state_is_a_copy(mx):
    trainer, other = (trainer_of(mx, epochs=3, width=4, warmup=0) for _ in range(2))
    trainer.run_epoch()
    state = copy.deepcopy(state_of(trainer))
    kept = copy.deepcopy(state)
    restore(other, state)
    for each in (trainer, other):
        each.run_epoch()
    assert same(state, kept)


def test_a_training_can_be_kept_before_its_first_epoch(mx):
    trainer = trainer_of(mx, epochs=3, width=4, warmup=0)
    assert trainer.epoch == 0
    check_state(trainer, state_of(trainer))


# Refusals


@pytest.fixture(scope="module")
def trained(mx, tmp_path_factory):
    """A checkpoint of one epoch."""
    folder = tmp_path_factory.mktemp("trained")
    predictor(epochs=1).fit(mx, checkpoint=folder)
    return (folder / FILE).read_bytes()


@pytest.fixture
def run(trained, tmp_path):
    (tmp_path / FILE).write_bytes(trained)
    return tmp_path


@contextmanager
def refuses_to_resume(folder, *values, error=InputError):
    """Expect that a resume is refused with these values, and that the checkpoint stays as it was."""
    before = (folder / FILE).read_bytes()
    with refuses(folder, *values, error=error):
        yield
    assert (folder / FILE).read_bytes() == before


def resume(folder, mx, targets=None, **settings):
    predictor(**{"epochs": 1, **settings}).fit(mx, targets, checkpoint=folder, resume=True)


def test_other_settings_are_refused_by_name(run, mx):
    with refuses_to_resume(run, "policy was 'default', now 'exp3+'", "k was 1, now 2"):
        resume(run, mx, k=2, policy="exp3+")
    with refuses_to_resume(run, "policy_options", "raw_range", True):
        resume(run, mx, policy="exp3+", policy_options={"raw_range": True})
    with refuses_to_resume(run, "targets", ["a", "b", "c", "d"], ["b"]):
        resume(run, mx, ["b"])


def test_a_finished_training_goes_on_with_more_epochs(mx, tmp_path):
    """The learning rate is that of a training of so many epochs."""
    short = predictor(epochs=2).fit(mx, checkpoint=tmp_path)
    rates = []

    def watch(model, row):
        rates.append(model._trainer.optimizer.rate)

    longer = predictor(epochs=4).fit(mx, on_epoch=watch, checkpoint=tmp_path, resume=True)
    assert longer.history_["epoch"].unique().tolist() == [1, 2, 3, 4]
    assert longer.history_["train_loss"].tolist()[:8] == short.history_["train_loss"].tolist()
    steps = longer._trainer.steps_per_epoch
    done = [(epoch * steps - 1) / (4 * steps) for epoch in (3, 4)]  # before the last step of an epoch
    assert rates == pytest.approx([0.02 * max(0.05, (1 + math.cos(math.pi * each)) / 2) for each in done])
    with refuses_to_resume(tmp_path, "epochs was 4, now 2"):
        resume(tmp_path, mx, epochs=2)
    with refuses_to_resume(tmp_path, "patience was 20, now 10"):
        resume(tmp_path, mx, epochs=4, patience=10)


def test_other_data_are_refused_by_name(run, mx):
    size = mx.layer_sizes[3]
    shorter = replace(mx, edge_index=mx.edge_index[:, :-1], layer_offsets=mx.layer_offsets - [0, 0, 0, 0, 1])
    for other, *values in (
        (mx.subset(layers=["a", "b", "c"]), "layer 'd' is missing"),
        (replace(mx, layer_names=("a", "c", "b", "d")), "layer 'b'", "other edges"),
        (shorter, "layer 'd'", size, size - 1),
        (replace(mx, layer_names=("a", "b", "c", "e")), "layer 'e' is new"),
        (replace(mx, directed=True), "directed was False, now True"),
        (replace(mx, node_names=mx.node_names[::-1]), "nodes differ"),
        (replace(mx, node_names=np.arange(mx.num_nodes + 2)), "number of nodes was 40, now 42"),
        (mx.with_node_types(["x"] * mx.num_nodes), "node types differ"),
        (replace(mx, weight=np.full(mx.num_edges, 2.0)), "weighted was False, now True", "layer 'a'"),
    ):
        with refuses_to_resume(run, *values):
            resume(run, other)


def test_a_new_training_does_not_overwrite_an_old_one(run, mx):
    with refuses_to_resume(run, "resume=True"):
        predictor().fit(mx, checkpoint=run)


def test_epochs_of_less_than_a_second_are_not_all_saved(mx, tmp_path, monkeypatch):
    """Here the first epoch ends at 0 s and each other .4 s later; the start, epochs 4, 7 and the last are saved."""
    clock, saved = [0.0], []
    monkeypatch.setattr(checkpoint, "EVERY", 1.0)
    monkeypatch.setattr(checkpoint, "monotonic", lambda: clock[0])

    def tick(model, row):
        saved.append(read_checkpoint(tmp_path / FILE)["state"]["epoch"])
        clock[0] += 0.4

    predictor(epochs=10, patience=10).fit(mx, on_epoch=tick, checkpoint=tmp_path)
    assert saved == [0, 0, 0, 4, 4, 4, 7, 7, 7, 10]


def test_resuming_nothing_begins(mx, tmp_path):
    for resume in (True, False):
        predictor(epochs=1).fit(mx, checkpoint=tmp_path / str(resume), resume=resume)
    assert (tmp_path / "True" / FILE).read_bytes() == (tmp_path / "False" / FILE).read_bytes()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_damage_is_noticed(damage, run, mx):
    data = (run / FILE).read_bytes()
    flipped = bytearray(data)
    flipped[-100] ^= 1
    (run / FILE).write_bytes(
        {"cut": data[: len(data) // 2], "flip": bytes(flipped), "empty": b"", "text": b"{}"}[damage]
    )
    with refuses_to_resume(run, FORMAT, "damaged", error=FormatError):
        resume(run, mx)


def test_another_version_is_refused(run, mx):
    kept = read_tree(run / FILE, format=FORMAT)
    write_tree(run / FILE, kept, format="banditplex checkpoint 99")
    with refuses_to_resume(run, FORMAT, "banditplex checkpoint 99", error=FormatError):
        resume(run, mx)
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, run / FILE)
    with refuses_to_resume(run, FORMAT, "another kind", error=FormatError):
        resume(run, mx)


def test_a_folder_that_cannot_be_made(mx, tmp_path):
    (tmp_path / "file").write_text("")
    with refuses(tmp_path / "file" / "run"):
        predictor().fit(mx, checkpoint=tmp_path / "file" / "run")


# The tree


def same(a, b):
    """Compare two trees type by type and bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
    return repr(a) == repr(b)


def test_what_is_read_is_what_was_written(tmp_path):
    tree = {
        "numbers": [1, -(2**127), 0.1, float("inf"), float("nan"), True, None, "ü\n"],
        3: (np.float64(0.5).item(), {"tuple": [1], "array": "0"}),
        ("a", 1): {},
        "arrays": [np.zeros((0, 3)), np.array(7, np.int32), np.eye(3)[:, ::2], np.array([True, False])],
        "tensors": (torch.tensor(3.0), torch.arange(6).reshape(2, 3).T, torch.zeros(2, dtype=torch.uint8)),
        "generator": np.random.default_rng(0).bit_generator.state,
    }
    write_tree(tmp_path / "t", tree, format="test 1")
    assert same(read_tree(tmp_path / "t", format="test 1"), tree)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_tensors_that_share_memory_come_back_on_their_own():
    shared = torch.zeros(3)
    first, second = unpack(*pack([shared, shared]))
    first += 1
    assert second.tolist() == [0, 0, 0]


def test_what_is_not_plain_is_a_mistake_of_ours():
    with refuses("object", error=TypeError):
        pack({"x": object()})
    with refuses("ndarray", error=TypeError):
        pack([np.array(["a"])])


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_tree(tmp_path / "t", {"old": 1}, format="test 1")

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with refuses(tmp_path / "t", "No space left"):
        write_tree(tmp_path / "t", {"new": 2}, format="test 1")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert read_tree(tmp_path / "t", format="test 1") == {"old": 1}
