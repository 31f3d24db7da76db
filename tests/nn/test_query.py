import pytest
import torch

from banditplex.nn import known, scoring
from banditplex.nn.known import Known, look_up
from banditplex.nn.query import Query
from banditplex.nn.view import pack
from banditplex.pairs.visibility import Visibility
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


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_known_of_pairs_depends_neither_on_chunks_nor_on_threads(monkeypatch, threads):
    mx = random_multiplex(3, num_layers=4)
    query, visibility, before = query_of(mx, 8), Visibility(evidence=True), torch.get_num_threads()
    expected = Known.of(pack(mx, "cpu", visibility), query.pairs, query.target, others=True)
    monkeypatch.setattr(known, "LOOKED_UP_AT_ONCE", 3)
    torch.set_num_threads(threads)
    found = look_up(pack(mx, "cpu", visibility), query.pairs, query.target, others=True)
    torch.set_num_threads(before)
    for name in ("values", "row", "others"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
    assert all(torch.equal(one, other) for one, other in zip(found.lists, expected.lists, strict=True))


def test_no_pairs_have_no_terms():
    mx = random_multiplex(3, num_layers=4)
    model, query = make_model(mx), query_of(mx, 1)
    nothing = query.take(torch.zeros(0, dtype=torch.long))
    assert list(nothing.chunks(5)) == []
    assert scoring.score_terms(model, pack(mx, "cpu", model.visibility), nothing).shape == (0, 3)
