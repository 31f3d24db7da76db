"""Worked cases with given arms and losses; their numbers were computed with 60 digits.

golden.json: per round the inclusion `p` before it, the observed `arms` and `losses`, where given the probabilities
`q` of observation and the `advice` [arm, loss], and what the state must be `after` it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from banditplex.bandits import Draw, Observations, make_policy

CASES = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def play_round(policy, row):
    """Let the given arms be drawn: the first k by the policy, the others observed beside them."""
    k, arms, q = policy.k, row["arms"], row.get("q", [])
    advice = row.get("advice", [])
    draw = Draw([0], [arms[:k]], policy.inclusion()[:, arms[:k]])
    extra = Observations(
        instance=[0] * (len(arms) - k + len(advice)),
        arm=arms[k:] + [arm for arm, _ in advice],
        loss=row["losses"][k:] + [loss for _, loss in advice],
        probability=q[k:] + [np.nan] * len(advice),
    )
    policy.update(draw, [row["losses"][:k]], probability=[q[:k]] if q else None, extra=extra)


@pytest.mark.parametrize("name", CASES)
def test_worked_case(name):
    case = CASES[name]
    policy = make_policy(case["policy"], num_arms=case["arms"], k=case["k"], **case["options"])
    for row in case["rounds"]:
        np.testing.assert_allclose(policy.inclusion()[0], row["p"], rtol=1e-10, atol=0)
        play_round(policy, row)
        state = policy.state_dict()
        for field, want in row["after"].items():
            rounding = 1e-13 * np.max(np.abs(want))  # where sums cancel to 0
            np.testing.assert_allclose(np.ravel(state[field]), np.ravel(want), rtol=1e-10, atol=rounding)


@pytest.mark.parametrize(("one", "other"), [("hinted_main", "hinted_scaled_2pow20"), ("hinted_huge", "hinted_tiny")])
def test_scaled_cases_have_the_same_probabilities(one, other):
    for row, scaled in zip(CASES[one]["rounds"], CASES[other]["rounds"], strict=True):
        np.testing.assert_allclose(row["p"], scaled["p"], rtol=1e-12)
