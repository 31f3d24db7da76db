import pytest
import torch

from banditplex.training.threads import SMALL, fitting_threads


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(("num_edges", "inside"), [(SMALL, 1), (SMALL + 1, 3)])
def test_small_work_is_done_by_one_thread_and_what_was_set_comes_back(num_edges, inside):
    with fitting_threads(num_edges):
        assert torch.get_num_threads() == inside
    assert torch.get_num_threads() == 3
