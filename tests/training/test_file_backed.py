"""Tensors in files: every operation has the results that it has in memory, and no file stays."""

import resource
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from banditplex.scratch import in_files, room
from banditplex.training.file_backed import FileBacked
from tests.refusals import refuses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")

KEYS = torch.randint(-5, 40, (100,), generator=torch.Generator().manual_seed(0))
MATRIX = torch.randn(40, 5, generator=torch.Generator().manual_seed(1))
OPERATIONS = {
    "sort": lambda: torch.sort(KEYS, stable=True),
    "sort of 32 bits": lambda: torch.sort(KEYS.int(), stable=True),
    "descending": lambda: torch.sort(KEYS, stable=True, descending=True),
    "sort of rows": lambda: torch.sort(MATRIX, 1),
    "nonzero": lambda: torch.nonzero(KEYS > 3),
    "nonzero of a matrix": lambda: torch.nonzero(MATRIX > 0),
    "no nonzero": lambda: torch.nonzero(KEYS > 100),
    "unique": lambda: torch.unique(KEYS),
    "unique with counts": lambda: torch.unique(KEYS, return_inverse=True, return_counts=True),
    "unique, consecutive": lambda: torch.unique_consecutive(KEYS // 9, return_inverse=True, return_counts=True),
    "repeat_interleave": lambda: torch.repeat_interleave(KEYS.clamp(min=0)),
    "repeat_interleave of few": lambda: torch.repeat_interleave(torch.tensor([0, 300, 0, 2])),
    "repeat": lambda: (KEYS.repeat(3), KEYS.repeat(2, 2)),
    "arange": lambda: (torch.arange(90), torch.arange(5, 90), torch.arange(3, 500, 7)),
    "new": lambda: (KEYS.new_zeros(50), KEYS.new_ones(50), KEYS.new_full((50, 2), 3), torch.full((70,), 2.5)),
    "like": lambda: (torch.zeros_like(KEYS), torch.ones_like(KEYS, dtype=torch.bool), torch.full_like(MATRIX, 7)),
    "copies": lambda: (KEYS.clone(), KEYS.float(), KEYS.to(torch.int32), MATRIX.T.contiguous()),
    "joined": lambda: (torch.cat([KEYS, KEYS]), torch.stack([KEYS, KEYS], 1), torch.stack([MATRIX, MATRIX], -1)),
    "index": lambda: (KEYS[KEYS > 7], MATRIX[torch.arange(30)], MATRIX[:, [1, 2]], MATRIX[MATRIX > 0]),
    "bits": lambda: (KEYS >> 2, KEYS % 7, KEYS // 7, KEYS.bitwise_and(6)),
    "sums": lambda: (torch.cumsum(KEYS, 0), torch.diff(KEYS), torch.bincount(KEYS.clamp(min=0)), MATRIX.sum(1)),
    "search": lambda: torch.searchsorted(torch.sort(KEYS).values, KEYS, right=True),
    "product": lambda: (MATRIX @ MATRIX.T, torch.log1p(KEYS.abs()), torch.where(KEYS > 3, KEYS, 0)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_return_what_they_return_in_memory(name, tmp_path):
    expected = OPERATIONS[name]()
    with FileBacked(tmp_path, least=64, chunk=8):
        found = OPERATIONS[name]()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6 if name in ("product", "sums") else 0)
    assert not [*tmp_path.iterdir()]


@given(st.lists(st.integers(0, 3) | st.integers(-(2**62), 2**62), max_size=80), st.integers(1, 20))
def test_sorts_in_chunks_are_stable(values, chunk):
    """The order is that of Python's sort, also where one value fills many chunks."""
    keys = torch.tensor(values, dtype=torch.int64)
    with FileBacked("/", least=1 << 40, chunk=chunk) as mode:  # so large that there are no files
        found = mode._sort(keys)
    if found is NotImplemented:
        assert len(values) <= chunk
        return
    order = sorted(range(len(values)), key=values.__getitem__)
    assert found[1].tolist() == order
    assert found[0].tolist() == [values[place] for place in order]


def test_gradients_go_through_files(tmp_path):
    weight = torch.ones(5, requires_grad=True)
    with FileBacked(tmp_path, least=64):
        (MATRIX * weight).square().sum().backward()
    torch.testing.assert_close(weight.grad, 2 * MATRIX.square().sum(0))


def test_large_tensors_are_in_files_and_small_ones_are_not(tmp_path):
    with FileBacked(tmp_path, least=4096):
        large, small = torch.arange(1000) + 1, torch.arange(100) + 1
    lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]

    def file_of(tensor):
        spans = [([int(end, 16) for end in line[0].split("-")], line[5:]) for line in lines]
        return next(path for (first, last), path in spans if first <= tensor.data_ptr() < last)

    assert file_of(large)[0].startswith(f"{tmp_path}/banditplex-")
    assert file_of(large)[0].endswith("(deleted)")
    assert not file_of(small) or file_of(small) == ["[heap]"]


def test_a_full_disk_is_one_line(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with refuses(tmp_path, "80,000 bytes"), FileBacked(tmp_path, least=64):
            torch.arange(10_000)
        with refuses(tmp_path, "16,000 bytes"), in_files(tmp_path, 64):
            room(2_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_graphs_in_files_are_those_in_memory(directed, weighted, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.random(600) if weighted else None
    mx = Multiplex.from_edges(
        *rng.integers(0, 40, (2, 600)), rng.integers(0, 4, 600), num_nodes=40, weight=weight, directed=directed
    )
    expected = arrays(PackedGraph.from_multiplex(mx, union=True))
    with FileBacked(tmp_path, least=256, chunk=50):
        found = arrays(PackedGraph.from_multiplex(mx, union=True))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert torch.equal(found[name], values), name


def arrays(graph):
    """Return all tensors of a graph by name."""
    parts = {"": vars(graph), **{name: vars(getattr(graph, name)) for name in ("both", "out", "into")}}
    return {
        f"{part} {name}": value
        for part, values in parts.items()
        for name, value in values.items()
        if isinstance(value, torch.Tensor)
    }
