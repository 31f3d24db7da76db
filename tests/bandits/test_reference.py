"""The plain implementations must themselves be right: they play the worked cases of golden.json."""

import numpy as np
import pytest

from tests.bandits import reference
from tests.bandits.test_golden import CASES


@pytest.mark.parametrize("name", CASES)
def test_worked_case(name):
    case = CASES[name]
    plain = {"exp3+": reference.Exp3Plus, "hinted": reference.Hinted}[case["policy"]]
    policy = plain(case["arms"], case["k"], **case["options"])
    for row in case["rounds"]:
        np.testing.assert_allclose(policy.inclusion(), row["p"], rtol=1e-12, atol=0)
        chances = row.get("q", [None] * len(row["arms"]))
        observed = {a: (loss, q) for a, loss, q in zip(row["arms"], row["losses"], chances, strict=True)}
        policy.update(observed, dict(row.get("advice", [])))
        for field, want in row["after"].items():
            rounding = 1e-13 * np.max(np.abs(want))  # where sums cancel to 0
            np.testing.assert_allclose(getattr(policy, field), want, rtol=1e-12, atol=rounding)
