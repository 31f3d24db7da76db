import pytest
import torch

from banditplex.nn import compiled
from banditplex.nn.evidence import pack
from banditplex.nn.known import Known
from banditplex.nn.pair_features import compute_pair_features
from banditplex.pairs.visibility import Visibility
from tests.nn.test_graph import random_multiplex

pytestmark = pytest.mark.skipif(not compiled.INSTALLED, reason="numba is not installed")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
def test_compiled_loops_return_what_torch_does(monkeypatch, directed, threads):
    monkeypatch.setattr(compiled, "FEW", 100)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    mx = random_multiplex(0, num_nodes=30, num_edges=300, directed=directed)
    visibility = Visibility.of_training("layer", mx, evidence=True)
    graph = pack(mx, "cpu", visibility)
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(mx.num_nodes, (500, 2), generator=generator)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    target, other = torch.randint(mx.num_layers, (2, len(pairs)), generator=generator)

    def look():
        known = Known.of(graph, pairs, target, visibility)
        return known.values, compute_pair_features(graph, pairs, target, other[:, None], visibility, listed=False)[1]

    found = look()
    torch.set_num_threads(before)
    monkeypatch.setattr(compiled, "INSTALLED", False)
    expected = look()
    torch.testing.assert_close(found[0], expected[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[1].values, expected[1].values, rtol=1e-5, atol=1e-5)


def test_without_pairs_there_is_nothing_to_sum():
    nothing = torch.zeros(0, dtype=torch.long)
    lists = torch.tensor([0, 0]), torch.tensor([0]), torch.tensor([0.0])
    assert compiled.shared_sums(nothing, nothing, *lists).shape == (0, 3)
