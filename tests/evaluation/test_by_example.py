"""Functions inside `banditplex.evaluation`, each by an example."""

from banditplex.evaluation.statistics import holm, signed_rank_p


def test_holm():
    assert holm([0.01, 0.04, 0.03]).round(2).tolist() == [0.03, 0.06, 0.06]


def test_signed_rank_p():
    assert signed_rank_p([0.3, 0.1, 0.4, 0.2, 0.5]) == 0.0625  # all of one sign: 2 of 32 cases
