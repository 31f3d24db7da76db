"""Does it help? One sentence about our learner beside the target layer alone, and beside the best rival."""

import math
from collections.abc import Sequence

from banditplex.leaderboard.lines import PLANNED, SORTED_BY, Line
from banditplex.leaderboard.methods import OURS
from banditplex.leaderboard.tables import p_value
from banditplex.markdown import number

LEVEL = 0.05


def verdict(lines: Sequence[Line]) -> str | None:
    """Return the answer, from lines whose reference is our default; None if it has not been compared.

    A difference is clear if p < .05; p-values are those of the table.
    """
    by_name = {line.method: line for line in lines if line.seeds}
    alone, rivals = by_name.get(PLANNED), [line for line in by_name.values() if not line.ours]
    if OURS not in by_name or not (alone or rivals):
        return None
    ours = number(by_name[OURS].mean[SORTED_BY])
    parts, helps, tied = [], True, False
    if alone is not None:
        p = _p(alone)
        clear = _clear(alone, p)
        before, helps = number(alone.mean[SORTED_BY]), clear > 0
        change = {1: f"rises from {before} to {ours}", -1: f"falls from {before} to {ours}"}
        same = f"is {ours}, and {before} without them"
        parts.append(f"with the other layers, ROC-AUC {change.get(clear, same)}{_show(p, ' ({})')}")
    if rivals:
        best = max(rivals, key=lambda line: line.mean[SORTED_BY])
        p = _p(best)
        clear = _clear(best, p)
        helps = helps and clear >= 0
        many = f"the best of {len(rivals)} other methods" if len(rivals) > 1 else "the other method"
        theirs = number(best.mean[SORTED_BY])
        tied = clear == 0 and best.mean[SORTED_BY] > by_name[OURS].mean[SORTED_BY]
        near = "is as good" if theirs == ours else f"is {'higher' if tied else 'lower'}, but not clearly"
        judged = {1: "is clearly worse", -1: "is clearly better"}.get(clear, near)
        start = "" if parts else f"ROC-AUC is {ours}; "
        parts.append(f"{start}{many}, {best.method} ({theirs}{_show(p, ', {}')}), {judged}")
    answer = "banditplex does not help here"
    if helps:
        answer = f"banditplex helps here{', but another method does as well' * tied}"
        if alone is None and clear == 0:  # neither comparison shows it
            answer = "It is not clear whether banditplex helps here"
    if by_name[OURS].seeds == 1:
        answer = "One seed cannot tell whether banditplex helps here"
    return f"{answer}: {'; '.join(parts)}."


def _p(other: Line) -> float:
    found = other.difference.get(SORTED_BY)
    return math.nan if found is None else found.p


def _clear(other: Line, p: float) -> int:
    """Return 1 if ours is clearly better than another method, -1 if it is clearly worse, else 0."""
    if math.isnan(p) or p >= LEVEL:
        return 0
    return -1 if other.difference[SORTED_BY].mean > 0 else 1


def _show(p: float, form: str) -> str:
    if math.isnan(p):
        return ""
    text = p_value(p)
    return form.format(f"p {text}" if text.startswith("<") else f"p = {text}")
