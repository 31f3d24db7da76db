"""Functions inside `banditplex.training`, each by an example."""

from types import SimpleNamespace

import numpy as np
import torch

from banditplex.bandits.values import Draw
from banditplex.multiplex import Multiplex
from banditplex.training.batches import StepSize
from banditplex.training.config import SETTINGS, numpydoc
from banditplex.training.distributed import Group, _reason
from banditplex.training.draws import DrawSchedule
from banditplex.training.history import Regret
from banditplex.training.optimizer import rate_share, room_for
from banditplex.training.targets import resolve_layer_options
from tests.shown import shown


def test_step_size_on(monkeypatch):
    def pairs(gigabytes: int, width: int) -> int:
        found = SimpleNamespace(total_memory=gigabytes * 10**9)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: found)
        return StepSize.on(torch.device("cuda"), width).pairs

    assert StepSize.on(torch.device("cpu"), 16).pairs == 0
    assert pairs(24, 64) == 195_312  # a third of the memory, 8 GB, divided by 64 x 640 bytes
    assert pairs(192, 64) == 8 * 195_312 + 4  # eight times as much
    assert pairs(192, 16) == 3 << 20  # there is a most


def test_numpydoc():
    found = numpydoc({"depth": SETTINGS["depth"]}).splitlines()[2:]
    expected = ["depth : default 2", "    Number of convolutions."]
    assert found == expected


def test_group_deal():
    assert shown(Group(0, 2).deal(np.array([5, 9, 1, 7]))) == "array([1, 0, 0, 1])"


def test_reason():
    found = _reason(RuntimeError("[a/b.cc:553] Connection closed by peer [127.0.0.1]:8594. This is typically ..."))
    expected = "Connection closed by peer [127.0.0.1]:8594"
    assert found == expected


def test_draw_schedule():
    schedule = DrawSchedule(num_instances=1, k=1, steps=2)
    here, loss = np.array([0]), np.array([[0.5]])
    first = Draw(instances=schedule.needs_draw(here), arms=[[3]], probability=[[0.25]])
    found = (schedule.assign(first, here).tolist(), schedule.complete(first, here, loss)[2].tolist())
    expected = ([[3]], [False])
    assert found == expected
    none = Draw(instances=schedule.needs_draw(here), arms=np.empty((0, 1), int), probability=np.empty((0, 1)))
    arms = schedule.assign(none, here)
    draw, mean, ended = schedule.complete(none, here, 3 * loss)
    assert (arms.tolist(), draw.arms.tolist(), mean.tolist(), ended.tolist()) == ([[3]], [[3]], [[1.0]], [True])


def test_regret():
    regret = Regret(num_instances=1, num_arms=2, k=1)
    regret.add(Draw([0], [[0]], [[0.5]]), np.array([[0.3]]))
    regret.add(Draw([0], [[1]], [[0.25]]), np.array([[0.1]]))
    assert regret.total().round(2).tolist() == [0.0]  # paid .3 + .1; estimated .3 / .5 and .1 / .25


def test_rate_share():
    assert (rate_share(0), round(rate_share(0.5), 3), rate_share(1)) == (1.0, 0.5, 0.05)


def test_room_for():
    vector, views = room_for([torch.ones(2, 3), torch.ones(5)])
    assert (len(vector), [view.storage_offset() for view in views]) == (32, [0, 16])


def test_resolve_layer_options():
    mx = Multiplex.from_edges([0, 1, 2], [1, 2, 0], ["a", "b", "c"])
    assert resolve_layer_options(mx, np.array([1, 2]), "fixed", {"layers": ["a"]}) == {"arms": [[0], [0]]}
    found = resolve_layer_options(mx, np.array([1]), "cost-aware", {"prices": {"c": 5}, "policy": "exp3"})
    expected = {"prices": [[1.0, 5.0]], "policy": "exp3"}
    assert found == expected
