import math
import threading
import time

import numpy as np
import pytest
import torch

from banditplex.backend import choice, compiling, having, shared_sums
from banditplex.backend.having import Lists
from banditplex.backend.term_loops import compute_silu
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from banditplex.nn.known import Known
from banditplex.nn.pair_features import compute_pair_features
from banditplex.nn.view import pack
from banditplex.pairs.visibility import Visibility
from tests.nn.test_graph import random_multiplex

CPU = torch.device("cpu")

pytestmark = pytest.mark.skipif(not choice.NUMBA, reason="numba is not installed")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("hide", ["layer", "pair"])
@pytest.mark.parametrize("directed", [False, True])
def test_compiled_loops_return_what_torch_does(monkeypatch, directed, hide, threads):
    monkeypatch.setattr(compiling, "FEW", 100)
    monkeypatch.setattr(having, "FEW", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    mx = random_multiplex(0, num_nodes=30, num_edges=300, directed=directed)
    visibility = Visibility.of_training(hide, mx, evidence=True)
    view = pack(mx, "cpu", visibility)
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(mx.num_nodes, (500, 2), generator=generator)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    target = torch.randint(mx.num_layers, (len(pairs),), generator=generator)
    others = torch.randint(mx.num_layers, (len(pairs), 2), generator=generator)

    def look():
        known = Known.of(view, pairs, target)
        return known, compute_pair_features(view.graph, pairs, target, others, visibility)[1]

    found = look()
    torch.set_num_threads(before)
    monkeypatch.setattr(choice, "NUMBA", False)
    expected = look()
    torch.testing.assert_close(found[0].values, expected[0].values, rtol=1e-5, atol=1e-5)
    assert all(map(torch.equal, found[0].lists, expected[0].lists))
    torch.testing.assert_close(found[1].values, expected[1].values, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[1].row, expected[1].row)


def test_without_pairs_there_is_nothing_to_sum():
    nothing = torch.zeros(0, dtype=torch.long)
    lists = PackedGraph.from_multiplex(random_multiplex(0)).both
    assert shared_sums(lists, nothing, nothing).shape == (0, 3)


def test_a_list_much_longer_than_the_other_is_searched():
    """Node 0 has 40 neighbours in layer b, and node 1 has three in layer a, of which they share two."""
    star, few = [(0, node) for node in range(2, 42)], [(1, 5), (1, 41), (1, 50)]
    source, destination = zip(*few, *star, (5, 6), strict=True)
    mx = Multiplex.from_edges(source, destination, ["a"] * 3 + ["b"] * 41, num_nodes=60)
    lists = PackedGraph.from_multiplex(mx).both
    rows = lists.rows(torch.tensor([0, 1]), torch.tensor([1, 0]))
    degrees = [math.sqrt(1 * 2), math.sqrt(1 * 1)]  # of nodes 5 and 41, in both layers
    expected = [2, sum(1 / math.log(max(degree, 2)) for degree in degrees), sum(1 / degree for degree in degrees)]
    for a, b in ((0, 1), (1, 0)):
        assert shared_sums(lists, rows[[a]], rows[[b]])[0].tolist() == pytest.approx(expected)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_every_part_is_done_once_and_errors_come_through():
    done = [0] * 1000

    def work(part):
        for i in range(part.start, part.stop):
            done[i] += 1

    compiling.in_parts(1000, work, few=10, turns=3)
    assert done == [1] * 1000
    with pytest.raises(ZeroDivisionError):
        compiling.in_parts(1000, lambda part: 1 / (500 - part.stop), few=10)
    with pytest.raises(ZeroDivisionError):
        compiling.run_all([lambda: None, lambda: 1 / 0])


@pytest.mark.usefixtures("two_threads")
def test_torch_has_one_thread_in_each_of_our_own():
    before = threading.get_ident()
    with compiling.own_threads():
        assert (torch.get_num_threads(), compiling.num_threads()) == (1, 2)
        seen = {}
        compiling.in_parts(
            2, lambda part: seen.update({part.start: (threading.get_ident(), torch.get_num_threads())}), few=1
        )
    assert seen[0] == (before, 1)
    assert seen[1][0] != before
    assert seen[1][1] == 1
    assert (torch.get_num_threads(), compiling.num_threads()) == (2, 2)


@pytest.mark.usefixtures("two_threads")
def test_items_are_worked_on_in_threads_and_come_back_in_order():
    """Two items wait for each other, so two threads must work on them; inside, loops and torch use one."""
    both = threading.Barrier(2, timeout=10)

    def work(item):
        both.wait()
        return item, threading.get_ident(), torch.get_num_threads(), compiling.num_threads()

    found = compiling.map_on_cpu(work, [3, 1], CPU)
    assert [(item, *threads) for item, _, *threads in found] == [(3, 1, 1), (1, 1, 1)]
    assert len({thread for _, thread, *_ in found}) == 2
    assert (torch.get_num_threads(), compiling.num_threads()) == (2, 2)
    assert compiling.map_on_cpu(lambda item: (item, threading.get_ident()), [5], CPU) == [(5, threading.get_ident())]
    with pytest.raises(ZeroDivisionError):
        compiling.map_on_cpu(lambda item: 1 / item, [1, 0], CPU)


@pytest.mark.usefixtures("two_threads")
def test_after_each_item_something_is_called_and_may_end_the_work():
    done, called = [], []
    compiling.map_on_cpu(done.append, range(5), CPU, lambda: called.append(threading.get_ident()))
    assert (sorted(done), called) == ([0, 1, 2, 3, 4], [threading.get_ident()] * 5)
    done.clear()

    def work(item):
        time.sleep(0.02)
        done.append(item)

    with pytest.raises(ZeroDivisionError):
        compiling.map_on_cpu(work, range(40), CPU, lambda: 1 / 0)
    assert len(done) < 10  # what was not begun is left


@pytest.mark.parametrize("numba", [False, True])
def test_lists_of_some_pairs_are_those_of_a_plain_loop(monkeypatch, numba):
    monkeypatch.setattr(choice, "NUMBA", numba)
    lists = Lists(torch.tensor([0, 2, 2, 5]), torch.tensor([7, 8, 4, 5, 6]))
    begin, found = lists.take(torch.tensor([2, 1, 0, 2]))
    assert begin.tolist() == [0, 3, 3, 5, 8]
    assert found.tolist() == [4, 5, 6, 7, 8, 4, 5, 6]


def plain_silu(x):
    return x / (1 + math.exp(-x))


def silu_and_slope(values):
    result, slope = np.empty_like(values), np.empty_like(values)
    compute_silu(values, result, slope)
    return result, slope


def test_silu_and_its_slope_are_those_of_the_formula():
    values = np.linspace(-60, 60, 40_001, dtype=np.float32)
    found, slope = silu_and_slope(values)
    np.testing.assert_allclose(found, [plain_silu(each) for each in values.tolist()], rtol=1e-6, atol=1e-6)
    step = 1e-4
    rise = [(plain_silu(each + step) - plain_silu(each - step)) / (2 * step) for each in values.tolist()]
    np.testing.assert_allclose(slope, rise, rtol=0, atol=2e-6)


def test_silu_of_what_is_far_off_or_no_number():
    found, _ = silu_and_slope(np.array([1e4, -1e4, 0, np.nan, np.inf], np.float32))
    assert found[:3].tolist() == pytest.approx([1e4, 0.0, 0.0])
    assert np.isnan(found[3])
    assert found[4] == np.inf
