"""Ways to predict with a policy, against models that predict so by themselves."""

import numpy as np
import pytest

from experiments.ways import DRAWS, MEAN, ONE, PREDICTED, VALIDATED, ways_to_score
from tests.experiments.test_policy_scores import MX, TARGETS, fit

PAIRS = np.array([pair for pair in np.stack(np.triu_indices(40, 1), 1) if not MX.has_edges(pair[None], TARGETS[0])[0]])


@pytest.mark.parametrize(
    ("settings", "ways"),
    [
        ({"policy": "none"}, [PREDICTED]),
        ({"policy": "fixed", "policy_options": {"arms": [0]}}, [PREDICTED]),
        ({"policy": "all"}, [PREDICTED, VALIDATED]),
        ({"policy": "uniform", "k": 2}, [PREDICTED, MEAN, VALIDATED]),
        ({"policy": "uniform"}, [PREDICTED, ONE, MEAN, VALIDATED]),
    ],
)
def test_ways_of_policies(settings, ways):
    assert list(ways_to_score(fit(**settings))) == ways


def test_one_layer_is_a_model_with_k_1():
    ways, one = ways_to_score(fit(evidence="drawn")), fit(k=1, evidence="drawn")  # without a panel
    for target in TARGETS:
        pairs = PAIRS[~MX.has_edges(PAIRS, target)][:30]
        assert ways[ONE](pairs, target) == pytest.approx(one.score_pairs(pairs, target), abs=1e-5)
        assert ways[MEAN](pairs, target).tolist() == one.score_pairs(pairs, target, draws=DRAWS).tolist()
