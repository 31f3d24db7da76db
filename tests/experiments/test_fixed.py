import numpy as np

from banditplex.evaluation import Split
from experiments.fixed import by_layer, report
from tests.nn.test_graph import random_multiplex


class Given:
    """Scores pairs by the sum of their two nodes."""

    def fit(self, mx, targets=None, on_epoch=None):
        return self

    def score_pairs(self, pairs, layer):
        return np.asarray(pairs).sum(1).astype(float)


def test_metrics_by_layer_and_their_means_are_those_worked_out_by_hand():
    mx = random_multiplex(0, num_nodes=8, num_edges=20)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6]])
    labels = {0: [1, 0, 1], 1: [0, 1, 1]}  # scores 1, 2, 3 and 4, 5, 6
    parts = Split(mx, "layer", np.repeat([0, 1], 3), pairs, np.array(labels[0] + labels[1]))
    found = dict(by_layer(parts, Given()))
    assert found[mx.layer_names[0]] == {
        "roc_auc": 0.5, "average_precision": (1 + 2 / 3) / 2, "f1": 0.5, "ap_at_50": (1 + 2 / 3) / 2,
    }  # fmt: skip
    assert found[mx.layer_names[1]] == {"roc_auc": 1.0, "average_precision": 1.0, "f1": 1.0, "ap_at_50": 1.0}
    rows = [{"data": "a", "seed": 0, "seconds": 2.0, "layer": str(layer)} | row for layer, row in found.items()]
    cells = report(rows).parts[0].splitlines()[-1].replace(" ", "").strip("|").split("|")
    assert cells == ["a", "0", "2", ".7500", ".7500", ".9167", ".9167", ".7500", ".7500", ".9167", ".9167", "2"]
