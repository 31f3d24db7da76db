import threading
import time
from concurrent.futures import CancelledError

import pytest
import torch

from banditplex.backend.compiling import SMALL, num_threads, threads_for
from banditplex.training.threads import begun, run_to_end, second_thread


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(("num_edges", "inside"), [(SMALL, 1), (SMALL + 1, 3)])
def test_small_operations_are_done_by_one_thread_and_what_was_set_comes_back(num_edges, inside):
    with threads_for(num_edges):
        assert (torch.get_num_threads(), num_threads()) == (inside, 3)
    assert torch.get_num_threads() == 3


def counting(seen, steps, go):
    """Count to `steps`, as soon as `go` is set."""
    for step in range(steps):
        assert go.wait(10)
        seen.append((step, threading.get_ident(), torch.get_num_threads()))
        yield
    return "done"


@pytest.mark.usefixtures("three_threads")
def test_a_generator_runs_in_a_second_thread_while_the_first_goes_on():
    seen, go = [], threading.Event()
    with begun([counting(seen, 3, go)], 1, wanted=True) as values:
        assert seen == []  # it waits for this thread
        go.set()
        while not seen:  # it has not begun
            time.sleep(0.01)
        assert values(slice(None)) == ["done"]
    assert [(step, threads) for step, _, threads in seen] == [(0, 1), (1, 1), (2, 1)]
    assert threading.get_ident() not in {thread for _, thread, _ in seen}
    assert torch.get_num_threads() == 3


def test_without_a_second_thread_a_generator_runs_when_its_value_is_asked_for():
    seen, go = [], threading.Event()
    go.set()
    with begun([counting(seen, 2, go)], 1, wanted=False) as values:
        assert seen == []
        assert values(slice(None)) == ["done"]
    assert [thread for _, thread, _ in seen] == [threading.get_ident()] * 2


@pytest.mark.usefixtures("three_threads")
def test_a_generator_ends_at_its_next_step_if_the_block_is_left():
    """As after Ctrl-C: nobody waits for 10^9 steps."""
    seen, go = [], threading.Event()
    go.set()
    with pytest.raises(KeyboardInterrupt), begun([counting(seen, 10**9, go)], 1, wanted=True):
        raise KeyboardInterrupt
    assert len(seen) < 10**6
    with pytest.raises(CancelledError):
        run_to_end(counting(seen, 1, go), lambda: True)


@pytest.mark.usefixtures("three_threads")
def test_an_error_of_a_generator_comes_when_its_value_is_asked_for():
    def fails():
        yield
        raise ZeroDivisionError

    with begun([fails()], 1, wanted=True) as values, pytest.raises(ZeroDivisionError):
        values(slice(None))


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("ahead", [1, 3])
def test_who_asks_for_values_runs_those_that_have_not_begun_the_last_first(ahead):
    """The second thread waits in the first generator until the second one lets it go on; nobody asks for the fourth."""
    go, order = threading.Event(), []

    def job(number):
        order.append((number, threading.get_ident()))
        if number == 0:
            assert go.wait(10)
        if number == 1:
            go.set()
        yield
        return number

    with begun([job(number) for number in range(4)], ahead, wanted=True) as values:
        while not order:  # the second thread has not begun
            time.sleep(0.01)
        assert values(slice(3)) == [0, 1, 2]
    here = threading.get_ident()
    assert [number for number, thread in order if thread == here] == [2, 1]
    assert sorted(number for number, _ in order) == [0, 1, 2]


@pytest.mark.usefixtures("three_threads")
def test_work_goes_on_in_a_second_thread_with_one_thread_of_torch():
    found, go = [], threading.Event()
    with second_thread(wanted=True) as later:
        later.start(lambda: (go.wait(10), found.append((threading.get_ident(), torch.get_num_threads()))))
        assert found == []  # it waits for this thread
        go.set()
        later.wait()
        assert found[0][0] != threading.get_ident()
        assert (found[0][1], torch.get_num_threads()) == (1, 1)
        later.start(lambda: found.append("again"))
    assert found[1:] == ["again"]
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_errors_of_the_second_thread_come_through():
    with pytest.raises(ZeroDivisionError), second_thread(wanted=True) as later:
        later.start(lambda: 1 / 0)
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_jobs_are_done_one_ahead_and_in_order():
    begun = []

    def job(i):
        begun.append(i)
        return i, threading.get_ident()

    with second_thread(wanted=True) as later:
        found = later.ahead(lambda i=i: job(i) for i in range(4))
        first = next(found)
        later.start(lambda: None)
        later.wait()  # what was asked for before is done by now
        assert begun == [0, 1]
        rest = list(found)
    assert [i for i, _ in (first, *rest)] == [0, 1, 2, 3]
    assert threading.get_ident() not in {thread for _, thread in (first, *rest)}


def test_without_a_second_thread_jobs_are_done_when_they_are_needed():
    begun = []
    with second_thread(wanted=False) as later:
        found = later.ahead(lambda i=i: begun.append(i) for i in range(3))
        next(found)
        assert begun == [0]
        assert len(list(found)) == 2
    with second_thread(wanted=False) as later:
        assert list(later.ahead([])) == []


def test_without_a_second_thread_work_is_done_at_once():
    found = []
    with second_thread(wanted=False) as later:
        later.start(found.append, threading.get_ident())
        assert found == [threading.get_ident()]
        later.wait()
