"""The device of a comparison; what needs a GPU is marked so."""

import pytest
import torch

from banditplex.baselines import BASELINES
from banditplex.leaderboard import Method, Plan, compare
from banditplex.leaderboard.compare import describe, limit
from banditplex.leaderboard.lines import make_lines
from banditplex.leaderboard.methods import MeanOfDraws
from banditplex.leaderboard.plan import describe_device, find_device, start_device
from tests.leaderboard.scorers import DEGREES, Degrees
from tests.leaderboard.test_compare import multiplex
from tests.refusals import refuses

HERE = "cuda" if torch.cuda.is_available() else "cpu"


def test_the_device_is_found_or_refused():
    assert find_device("auto", "serial") == HERE
    assert find_device("cpu", "processes") == "cpu"
    assert find_device("auto", "ray") == "cpu"
    assert describe_device("cpu") == "cpu"
    with refuses("device", "cpu", "ray", "'cuda'"):
        find_device("cuda", "ray")
    with refuses("device", "'tpu'"):
        find_device("tpu", "serial")


@pytest.mark.skipif(HERE == "cuda", reason="needs a machine without a CUDA device")
def test_a_missing_gpu_is_refused_before_anything_is_fitted():
    with refuses("device", "'cuda'"):
        compare(multiplex(), [DEGREES], plan=Plan(device="cuda"))


def test_methods_that_have_a_device_get_it():
    for make in (BASELINES["node2vec"], BASELINES["complex-torch"], MeanOfDraws):
        assert limit(make(), "cuda:1", 10).get_params()["device"] == "cuda:1"
    assert vars(limit(Degrees(), "cuda", 10)) == vars(Degrees())


@pytest.mark.parametrize(
    ("device", "calls"), [("cpu", []), ("cuda", ["zeros"]), ("cuda:1", ["choose cuda:1", "zeros"])]
)
def test_a_gpu_is_chosen_and_started_if_it_is_used(device, calls, monkeypatch):
    made = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda name: made.append(f"choose {name}"))
    monkeypatch.setattr(torch, "zeros", lambda size, device: made.append("zeros"))
    start_device(device)
    assert made == calls


def test_another_device_is_another_comparison():
    assert [describe(Plan(device=name), multiplex())["device"] for name in ("cpu", "cuda")] == ["cpu", "cuda"]


class LargeThere(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        self.hoard = torch.zeros(10**9, device="cuda")  # 4 GB at once
        return super().fit(mx)


class There(Degrees):
    def __init__(self, device="cpu"):
        super().__init__()
        self.device = device

    def get_params(self, deep=True):
        return {"device": self.device}

    def set_params(self, **settings):
        vars(self).update(settings)
        return self

    def fit(self, mx, targets=None, on_epoch=None):
        self.num_parameters_ = torch.zeros(3, device=self.device).device.type == "cuda"
        return super().fit(mx)


@pytest.mark.gpu
@pytest.mark.skipif(HERE == "cpu", reason="needs a CUDA device")
def test_fits_run_on_the_gpu_and_its_memory_is_limited():
    methods = [Method("there", There), Method("large", LargeThere), "complex-torch", "node2vec", DEGREES]
    plan = Plan(seeds=2, trials=1, budget=30, memory=2.0, device="cuda")
    lines = {line.method: line for line in make_lines(compare(multiplex(), methods, plan=plan, engine="serial"))}
    assert lines["large"].note == "out of memory (2 GB), tried with 1 of 2 seeds"
    assert lines["there"].parameters == 1
    assert all(line.seeds == 2 for name, line in lines.items() if name != "large")
    assert describe_device("cuda") == f"CUDA: {torch.cuda.get_device_name(0)}"
