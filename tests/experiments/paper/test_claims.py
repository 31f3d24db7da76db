"""What a claim needs to hold, with differences made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from banditplex.experiments.paper.analysis import Difference, Runs, findings, overall, published, verdict, why
from banditplex.experiments.paper.settings import DATASETS

ALWAYS, UP_TO, SOME = (next(claim for claim in published() if claim.kind == kind) for kind in
                       ("always", "up to", "some better"))  # fmt: skip


def ten_trials(curve):
    """Ten trials whose mean is `curve`: each a little off, the same at all epochs."""
    return Difference(np.array(curve, float) + np.linspace(-0.01, 0.01, 10)[:, None])


@pytest.mark.parametrize(
    ("claim", "curve", "holds"),
    [
        (ALWAYS, [1, 2, 3], "yes"),
        (ALWAYS, [-0.5, *[2] * 19], "nearly"),  # 95 % of the epochs
        (ALWAYS, [-0.5, 2, 3], "no"),
        (ALWAYS, [-60, *[2] * 19], "no"),  # better almost always, but worse on the whole
        (UP_TO, [1, 14.6, 2], "yes"),
        (UP_TO, [1, 14.4, 2], "less"),
        (UP_TO, [-9, 8], "no"),
        (SOME, [0.5, -0.2], "yes"),
        (SOME, [-0.5, 0.2], "no"),
        (SOME, [0.04, 0.04], "no"),  # less than a tenth of a point
    ],
)
def test_verdicts(claim, curve, holds):
    assert verdict(claim, ten_trials(curve)) == holds


def test_a_difference_that_may_be_chance_is_none():
    difference = Difference(np.array([[5.0], [-4.0], [3.0], [-2.0], [1.0], [1.5]]))
    assert difference.mean > 0
    assert verdict(SOME, difference) == "no"
    assert difference.better == 1
    assert verdict(ALWAYS, difference) == "no"


def test_claims_are_about_data_sets_of_the_paper():
    assert {name for claim in published() for name in claim.datasets} == set(DATASETS)
    assert [claim.points for claim in published() if claim.kind == "up to"] == [15, 8, 15]


def test_every_claim_is_checked_for_both_methods(made_rows):
    found = findings(Runs.from_rows(made_rows))
    assert len(found) == 2 * sum(len(claim.datasets) for claim in published())
    assert {finding.holds for finding in found if finding.claim.kind == "always"} == {"yes"}
    cosine = [finding for finding in found if finding.claim.kind == "some better"]
    assert all(1.8 < finding.difference.mean < 2.2 for finding in cosine)  # two places further: .01 each
    assert {finding.measured for finding in found if finding.claim.points == 8} == {"up to +1.0", "up to +2.0"}


def test_overall(made_rows):
    finding = findings(Runs.from_rows(made_rows))[0]

    def of(kind, *verdicts):
        return overall([replace(finding, claim=replace(ALWAYS, kind=kind), holds=holds) for holds in verdicts])

    assert of("always", "yes", "yes") == "yes"
    assert of("always", "yes", "nearly") == "nearly"
    assert of("always", "no", "nearly") == "in part"
    assert of("always", "no", "no") == "no"
    assert of("up to", "no", "yes") == "yes"
    assert of("up to", "no", "less") == "in part"
    assert of("some better", "no", "no") == "no"


@pytest.mark.parametrize(
    ("headroom", "gain", "mass", "words"),
    [
        (0.004, 0.0, 0.9, "little to gain"),
        (0.04, 0.0, 0.55, "still near even draws"),
        (0.04, 0.01, 0.9, "near is not useful"),
        (0.04, 0.03, 0.9, "it finds what there is"),
        (0.004, 0.03, 0.9, "it finds what there is"),  # which an evenly trained network could not use
    ],
)
def test_reasons(make_row, headroom, gain, mass, words):
    even = make_row("ckm", "uniform", 0, 0, [0.5], headroom=headroom, gain=0.0, mass=0.5)
    runs = Runs.from_rows([even, make_row("ckm", "ours", 0, 0, [0.5], headroom=0.9, gain=gain, mass=mass)])
    assert why(runs, "ckm", "ours").startswith(words)
