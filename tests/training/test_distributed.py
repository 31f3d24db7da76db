"""Several processes: the same policies and, up to rounding, the losses of one; the first alone writes and prints."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.persistence.run_folder import RunFolder
from banditplex.training.batches import Batch
from banditplex.training.distributed import ALONE, Group, Lost, current, joined, reaching
from banditplex.training.feedback import layer_losses
from banditplex.training.threads import Later
from tests.refusals import refuses
from tests.training import processes
from tests.training.gradients import gradients
from tests.training.test_loop import trainer_of

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
NUMBERS = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")


def quiet_environment():
    """Return an environment in which new processes find the package and these tests, with a thread each."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"}


def check_same_history(found, expected):
    """Require the same draws, and losses that differ by rounding errors only."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one["epoch"], one["layer"], one["drawn"]) == (other["epoch"], other["layer"], other["drawn"])
        assert [one[name] for name in NUMBERS] == pytest.approx([other[name] for name in NUMBERS], abs=1e-5)


# One process


def test_alone_there_is_nothing_to_add_up_or_to_wait_for():
    with joined() as group:
        assert group is current() is ALONE
    values = torch.arange(3.0)
    assert ALONE.add_up(values) is values
    assert ALONE.divide(np.array([4, 2])) is None
    assert (ALONE.is_writer, ALONE.from_first(lambda: 5)) == (True, 5)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_target_has_one_owner_and_the_shares_are_alike(size):
    edges = np.random.default_rng(0).integers(0, 1000, 50)
    shares = [Group(rank, size).divide(edges) for rank in range(size)]
    if size == 1:
        shares = [np.ones(50, np.bool_)]
    assert (np.sum(shares, axis=0) == 1).all()
    loads = [edges[share].sum() for share in shares]
    assert max(loads) - min(loads) <= edges.max()


def test_what_torch_says_of_a_lost_process_is_one_line():
    with refuses("Connection closed by peer", error=Lost), reaching():
        raise RuntimeError("[/x/gloo/pair.cc:553] Connection closed by peer [127.0.0.1]:1.\n This is typically ...")


@pytest.mark.parametrize(
    "settings", [{"width": 0}, {"width": 4, "relevance": "euclidean", "k": 2}, {"width": 4, "evidence": "drawn"}]
)
def test_parts_of_a_step_add_up_to_the_step(settings):
    """Gradients are the sums of those of the parts, layer losses their rows; no part sees hidden pairs of another."""
    trainer = trainer_of(processes.multiplex(), epochs=4, **settings)
    trainer.run_epoch()
    plan = trainer._plan(trainer.rng["batches"])
    order, row = plan.edges(trainer.data.device)
    pairs, places = trainer.supply.epoch(1, order, trainer.rng["negatives"])
    edges, instances = next(plan.steps())
    step = Batch.of(row[edges], pairs[:, edges], instances, trainer._draw_layers(instances)[1])

    def learn(batch):
        at = torch.isin(torch.from_numpy(step.instances)[step.row], torch.from_numpy(batch.instances))
        known = None if places is None else trainer.supply.known(places[:, edges].flatten()[at])
        logits = trainer._score(batch, known, Later())
        return gradients(trainer, batch, logits), logits

    whole, logits = learn(step)
    losses = layer_losses(trainer.relevance, step, logits)
    mine, total = np.arange(5) % 2 == 0, [torch.zeros_like(weight) for weight in trainer.model.parameters()]
    for some in (mine, ~mine):
        part = step.part(some)
        assert set(part.instances.tolist()) == set(np.flatnonzero(some).tolist()) & set(instances.tolist())
        more, logits = learn(part)
        total = [one + other for one, other in zip(total, more, strict=True)]
        found = layer_losses(trainer.relevance, part, logits)  # alone: the rows of the others stay 0
        here = some[instances]
        np.testing.assert_allclose(found.values[here], losses.values[here], rtol=1e-5)
        assert not found.values[~here].any()
        assert (found.layers == losses.layers).all()
    torch.testing.assert_close(total, whole, atol=1e-6, rtol=1e-4)


# Two processes


@pytest.fixture(
    scope="module",
    params=[("several", "searched"), pytest.param(("default", "free", "drawn"), marks=pytest.mark.slow)],
    ids=" and ".join,
)
def folder(request, tmp_path_factory):
    """A folder in which one process has trained some cases and run `train`, which trains one network; then two."""
    folder = tmp_path_factory.mktemp("processes")
    bx.write(processes.multiplex(), folder / "data.bx")
    command = [sys.executable, processes.__file__, str(folder), *request.param]
    done = subprocess.run(command, capture_output=True, text=True, env=quiet_environment(), timeout=200)
    assert done.returncode == 0, done.stderr
    return folder


def outcomes(folder, case):
    """Return what a case gave in one process, and in the first and the second of two."""
    return [json.loads((folder / f"{name}.json").read_text())[case] for name in ("0 of 1", "0 of 2", "1 of 2")]


def test_two_processes_learn_what_one_learns(folder, request):
    for case in request.node.callspec.params["folder"]:
        alone, first, second = outcomes(folder, case)
        assert first == second
        check_same_history(first["history"], alone["history"])
        np.testing.assert_allclose(first["policies"], alone["policies"], atol=1e-4)
        np.testing.assert_allclose(first["gains"], alone["gains"], rtol=1e-5)
        assert first["layers"] == alone["layers"]
        assert first["panels"] == alone["panels"]
        assert (len(alone["panels"]) > 0) is (case != "drawn")  # which sees target and drawn layers alone
        np.testing.assert_allclose(first["scores"], alone["scores"], rtol=1e-3)


def test_rows_of_all_processes_are_put_together(folder):
    assert outcomes(folder, "put together") == [[1.0], [1.0, 2.0], [1.0, 2.0]]


def test_the_first_process_alone_prints_and_writes(folder):
    alone, first = (json.loads((folder / f"0 of {size}.txt").read_text()) for size in (1, 2))
    assert (folder / "1 of 2.txt").read_text() == ""
    assert (first["epochs"], first["kept_epochs"]) == (alone["epochs"], alone["kept_epochs"])
    check_same_history(*(RunFolder(folder / f"run of {size}").progress().history for size in (1, 2)))
    one, two = ({path.name for path in (folder / f"run of {size}").iterdir()} for size in (1, 2))
    assert one == two
    scores = [bx.LinkPredictor.load(folder / f"run of {size}").score_pairs([[0, 1]], "g1-base") for size in (1, 2)]
    np.testing.assert_allclose(*scores, atol=1e-3)


ALONE_AT_START = """
import sys
from banditplex.training import distributed
distributed.START = float(sys.argv[1])
print("begins", flush=True)
try:
    with distributed.joined():
        pass
except distributed.Lost as lost:
    print(lost)
"""


def start_alone(seconds, port):
    """Start the second of two processes, as torchrun does, whose store is in this process."""
    names = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    names |= {"TORCHELASTIC_USE_AGENT_STORE": "True"}
    words = [sys.executable, "-c", ALONE_AT_START, str(seconds)]
    child = subprocess.Popen(words, env=quiet_environment() | names, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    return child


@pytest.mark.parametrize(
    ("name", "text", "low"),
    [("RANK", "x", 0), ("RANK", "-1", 0), ("WORLD_SIZE", "", 1), ("WORLD_SIZE", "0", 1), ("LOCAL_RANK", "1.5", 0)],
)
def test_numbers_of_the_environment_that_are_none_are_refused(name, text, low, monkeypatch):
    for each, value in {"RANK": "0", "WORLD_SIZE": "2", name: text}.items():
        monkeypatch.setenv(each, value)
    says = f"Expected an integer of at least {low} in the environment variable {name}, got '{text}'."
    with refuses(says), joined():
        pass


def test_a_rank_that_is_no_number_ends_training_in_one_line(call, monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "x")
    status, _, said = call("train", "twins", "-o", "run", "--epochs", "1", cwd=tmp_path)
    expected = "banditplex: Expected an integer of at least 0 in the environment variable RANK, got 'x'."
    assert (status, said.splitlines()[-1]) == (2, expected)


@pytest.mark.slow
def test_a_process_that_waits_for_the_first_at_the_start_ends_by_itself_and_when_it_is_told_to():
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    waits, told = start_alone(2, store.port), start_alone(300, store.port)
    said, _ = waits.communicate(timeout=200)
    assert said.startswith("Expected an answer from the other processes")
    assert said.count("\n") == 1
    time.sleep(0.5)
    assert told.poll() is None
    begin = time.monotonic()
    told.terminate()
    assert told.wait(timeout=200) == -signal.SIGTERM
    assert time.monotonic() - begin < 5
    told.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_leaves_a_run_that_can_be_resumed(killed, tmp_path):
    bx.write(processes.multiplex(), tmp_path / "data.bx")
    words = ["train", str(tmp_path / "data.bx"), "-o", str(tmp_path / "run"), "--epochs", "40", "--patience", "40"]
    words += ["--width", "0", "--members", "1"]
    process = subprocess.Popen(
        [*TORCHRUN, "-m", "banditplex", *words], env=quiet_environment(), stderr=subprocess.PIPE, text=True
    )
    folder, deadline = RunFolder(tmp_path / "run"), time.monotonic() + 120
    while not folder.begun or folder.progress().epoch < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(worker(process.pid, killed), signal.SIGKILL)
    _, error = process.communicate(timeout=120)
    assert process.returncode
    said = [line for line in error.splitlines() if line.startswith("banditplex:")]
    assert len(said) == 1
    assert "torchrun --nproc-per-node 2 -m banditplex train" in said[0]
    before = folder.progress().epoch
    assert 2 <= before < 40
    start = [sys.executable] if killed else TORCHRUN  # by one process, or again by two
    again = [*start, "-m", "banditplex", *words, "--resume", "--quiet"]
    subprocess.run(again, env=quiet_environment(), check=True, timeout=200, capture_output=True)
    whole = bx.LinkPredictor(epochs=40, patience=40, width=0, members=1).fit(processes.multiplex())
    check_same_history(folder.progress().history, whole.history_.to_dict("records"))


def worker(launcher, rank):
    """Return the process of a rank among those that a launcher has started."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            names = (path / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if parent == launcher and f"RANK={rank}".encode() in names:
            return int(path.name)
    raise AssertionError(f"no process of rank {rank}")


def test_the_group_is_the_one_that_was_joined_last(monkeypatch):
    first, last = Group(), Group()
    assert current() is ALONE
    monkeypatch.setattr("banditplex.training.distributed._joined", [first, last])
    assert current() is last
