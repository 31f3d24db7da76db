"""A sample of the faults that `make faults` tries at every step: killed, and then done again."""

import pytest

from faults.harness import Harness
from faults.scenarios import convert, everything

CUT = {  # steps of two conversions at which old and new stand beside each other, or a draft stays behind
    "csv": ("after replace out.csv.meta.json", "before unlink .out.csv.mixed"),
    "banditplex": ("after exchange draft of out.bx/out.bx",),
}


@pytest.mark.parametrize("format", CUT)
def test_a_conversion_that_is_killed(format, tmp_path):
    harness = Harness(convert(format), tmp_path / "s")
    assert harness.run("kill", [harness.steps.index(step) for step in CUT[format]]) == []


@pytest.mark.slow
@pytest.mark.parametrize("scenario", everything(), ids=lambda scenario: scenario.name)
def test_every_scenario_at_some_steps(scenario, tmp_path):
    harness = Harness(scenario, tmp_path / "s")
    steps = range(0, len(harness.steps), max(1, len(harness.steps) // 8))
    for fault in scenario.faults:
        assert harness.run(fault, steps) == []
