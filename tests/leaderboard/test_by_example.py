"""Functions inside `banditplex.leaderboard`, each by an example."""

from banditplex.leaderboard.lines import Difference, difference, p_value


def test_difference():
    assert difference(Difference("default", -0.0141, 0.0062, 0.1, 0.2)) == "-.014 ± .006"


def test_p_value():
    assert (p_value(0.0314), p_value(0.00002), p_value(float("nan"))) == (".031", "< .001", "-")
