"""Labels that stand beside the ends of lines and do not cover each other."""

from collections.abc import Mapping
from typing import Any


def spread(places: Mapping[str, float], gap: float) -> dict[str, float]:
    """Return labels' places, moved apart where they are nearer than `gap`, their order and mean kept.

    >>> spread({"a": 1.0, "b": 1.0, "c": 5.0}, 2.0)
    {'a': 0.0, 'b': 2.0, 'c': 5.0}
    """
    groups = [[[name], place] for name, place in sorted(places.items(), key=lambda item: item[1])]
    merged: list[list[Any]] = []
    for names, centre in groups:
        merged.append([names, centre])
        while len(merged) > 1 and _top(merged[-2], gap) + gap > _bottom(merged[-1], gap):
            (below, low), (above, high) = merged[-2:]
            both = [*below, *above]
            merged[-2:] = [[both, (low * len(below) + high * len(above)) / len(both)]]
    return {
        name: centre + (rank - (len(names) - 1) / 2) * gap
        for names, centre in merged
        for rank, name in enumerate(names)
    }


def _top(group: list[Any], gap: float) -> float:
    return float(group[1] + (len(group[0]) - 1) / 2 * gap)


def _bottom(group: list[Any], gap: float) -> float:
    return float(group[1] - (len(group[0]) - 1) / 2 * gap)
