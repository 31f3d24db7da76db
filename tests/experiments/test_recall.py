"""The recall of candidates, beside sets and a loop."""

import numpy as np

import banditplex as bx
from banditplex.answers.ranking import positions
from banditplex.pairs.candidates import find_candidates
from experiments.recall import SHARES, densest, measure, report
from tests.answers.test_ranking import LAYER
from tests.test_predictor import small


def test_recall_is_the_share_of_the_most_likely_pairs_found():
    mx = small()
    model = bx.LinkPredictor(epochs=1, width=0).fit(mx, [LAYER])
    rows = list(measure(model._fitted, LAYER, {"data": "x", "seed": 0, "layer": LAYER}))
    best = model.recommend(LAYER, top=100)[["source", "destination"]].to_numpy().tolist()
    free = 40 * 39 // 2 - mx.edges(LAYER).shape[1]
    for share in SHARES:
        found = find_candidates(mx, 0, size=round(share * free), positions=positions(model._fitted, LAYER))
        ways = {way: {tuple(pair) for pair in some.tolist()} for way, some in found.items()}
        ways["all"] = set().union(*ways.values())
        for way, pairs in ways.items():
            (row,) = (row for row in rows if (row["kept"], row["way"], row["top"]) == (share, way, 100))
            assert row["recall"] == sum(tuple(pair) in pairs for pair in best) / 100
            assert row["ranked"] == len(pairs) / free
    assert f"| x | {SHARES[0]:.1%} |" in "\n".join(report(rows).parts)


def test_the_densest_part_has_the_nodes_with_the_most_edges():
    mx = bx.Multiplex.from_edges([0, 0, 0, 1, 4], [1, 2, 3, 2, 5], ["a", "a", "b", "b", "b"], num_nodes=6)
    assert densest(mx, 3).node_names.tolist() == [0, 1, 2]
    assert densest(mx, 6) is mx
    assert np.array_equal(densest(mx, 3).edges("a"), [[0, 0], [1, 2]])
