import pytest
import torch

from banditplex.nn import scoring
from banditplex.nn.known import look_up
from banditplex.nn.query import Query
from banditplex.nn.view import pack
from tests.nn.test_graph import random_multiplex
from tests.nn.test_model import make_model


def query_of(mx, size, k=2):
    generator = torch.Generator().manual_seed(0)
    pairs = torch.stack([torch.randperm(mx.num_nodes, generator=generator)[:2] for _ in range(size)])
    table = torch.stack([torch.randperm(mx.num_layers, generator=generator)[: 1 + k] for _ in range(size)])
    return Query(pairs, table[:, 0], table[:, 1:])


@pytest.mark.parametrize("looked_up", [False, True])
def test_chunks_are_scored_as_one_pair_at_a_time(monkeypatch, looked_up):
    mx = random_multiplex(3, num_layers=4)
    model, query = make_model(mx), query_of(mx, 8)
    view = pack(mx, "cpu", model.visibility)
    alone = [
        model(view, Query(*(each[i : i + 1] for each in (query.pairs, query.target, query.layers)))) for i in range(8)
    ]
    if looked_up:
        query = Query(query.pairs, query.target, query.layers, look_up(view, query.pairs, query.target))
    monkeypatch.setattr(scoring, "SCORED_AT_ONCE", 3)
    found = scoring.score_terms(model, view, query)
    expected = torch.tensor([[*each.own.tolist(), *each.other[0].tolist()] for each in alone])
    torch.testing.assert_close(found, expected)
    assert torch.equal(query.table, torch.cat([query.target[:, None], query.layers], 1))


def test_no_pairs_have_no_terms():
    mx = random_multiplex(3, num_layers=4)
    model, query = make_model(mx), query_of(mx, 1)
    nothing = query.take(torch.zeros(0, dtype=torch.long))
    assert list(nothing.chunks(5)) == []
    assert scoring.score_terms(model, pack(mx, "cpu", model.visibility), nothing).shape == (0, 3)
