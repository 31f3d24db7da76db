"""Time and memory against the number of layers."""

import pytest

from experiments.scale import METHODS, Run, measure_here, report, some_layers


def test_layers_of_smaller_cuts_are_among_those_of_larger_ones():
    cuts = [set(some_layers(Run("twins", size, "k=1", 0)).layer_names) for size in (2, 4, 8)]
    assert [len(cut) for cut in cuts] == [2, 4, 8]
    assert cuts[0] < cuts[1] < cuts[2]


def test_a_page_has_a_line_per_method_and_a_column_per_size():
    rows = [
        {"data": "twins", "layers": size, "method": method, "edges": 9, "seconds": size / 10, "megabytes": 7.0}
        for method in ("k=1", "rgcn")
        for size in (2, 4)
    ]
    text = "\n".join(report(rows).parts)
    assert "| method | 2 layers | 4 layers |" in text
    assert "| k=1 | .2 | .4 |" in text


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[:-1])
def test_every_method_takes_time_and_memory(method):
    found = measure_here(Run("twins", 4, method, 0))
    assert found["seconds"] > 0
    assert found["megabytes"] >= 0
