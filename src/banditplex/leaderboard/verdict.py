"""Does it help? One sentence about our learner beside the target layer alone, and beside the best rival."""

import math
from collections.abc import Sequence
from dataclasses import replace

from banditplex.leaderboard.lines import PLANNED, Line, headline
from banditplex.leaderboard.methods import OURS
from banditplex.leaderboard.tables import HEADS, difference, p_value
from banditplex.markdown import number

LEVEL = 0.05
CEILING, CLOSE, MANY = 0.995, 0.002, 3
"""ROC-AUC is saturated from the first value on, or if so many methods are within the second of the best."""


def verdict(lines: Sequence[Line]) -> str | None:
    """Return the answer, from lines whose reference is our default; None if it has not been compared.

    A difference is clear if p < .05; differences, errors and p-values are those of the table.
    """
    by_name = {line.method: line for line in lines if line.seeds}
    alone, rivals = by_name.get(PLANNED), [line for line in by_name.values() if not line.ours]
    if OURS not in by_name or not (alone or rivals):
        return None
    metric = headline(lines)
    ours = number(by_name[OURS].mean[metric])
    parts, helps, tied = [], True, False
    if alone is not None:
        clear = _clear(alone, metric)
        before, helps = number(alone.mean[metric]), clear > 0
        change = {1: f"rises from {before} to {ours}", -1: f"falls from {before} to {ours}"}
        same = f"is {ours}, and {before} without them"
        parts.append(
            f"with the other layers, {HEADS[metric]} {change.get(clear, same)}{_show(alone, metric, ' ({})', -1)}"
        )
    if rivals:
        best = max(rivals, key=lambda line: line.mean[metric])
        clear = _clear(best, metric)
        helps = helps and clear >= 0
        many = f"the best of {len(rivals)} other methods" if len(rivals) > 1 else "the other method"
        theirs = number(best.mean[metric])
        tied = clear == 0 and best.mean[metric] > by_name[OURS].mean[metric]
        near = "is as good" if theirs == ours else f"is {'higher' if tied else 'lower'}, but not clearly"
        judged = {1: "is clearly worse", -1: "is clearly better"}.get(clear, near)
        start = "" if parts else f"{HEADS[metric]} is {ours}; "
        parts.append(f"{start}{many}, {best.method} ({theirs}{_show(best, metric, ', {}')}), {judged}")
    answer = "banditplex does not help here"
    if helps:
        answer = f"banditplex helps here{', but another method does as well' * tied}"
        if alone is None and clear == 0:  # neither comparison shows it
            answer = "It is not clear whether banditplex helps here"
    if by_name[OURS].seeds == 1:
        answer = "One seed cannot tell whether banditplex helps here"
    return f"{answer}: {'; '.join(parts)}."


def saturation(lines: Sequence[Line]) -> str | None:
    """Return a sentence if ROC-AUC hardly tells methods apart; of our own variants, the best one counts."""
    found = sorted((line.mean["roc_auc"], line.ours) for line in lines if line.seeds)[::-1]
    ours = [value for value, own in found if own][:1]
    values = sorted([*ours, *(value for value, own in found if not own)])[::-1]
    near = sum(value >= values[0] - CLOSE for value in values) if values else 0
    if len(values) < 2 or (values[0] < CEILING and near < MANY):
        return None
    why = f"the best method has {number(values[0])}" if values[0] >= CEILING else f"{near} methods are within {CLOSE:g}"
    return f"ROC-AUC is saturated here and hardly tells methods apart ({why.replace(' 0.', ' .')}): look at rankings."


def _clear(other: Line, metric: str) -> int:
    """Return 1 if ours is clearly better than another method, -1 if it is clearly worse, else 0."""
    found = other.difference.get(metric)
    if found is None or math.isnan(found.p) or found.p >= LEVEL:
        return 0
    return -1 if found.mean > 0 else 1


def _show(other: Line, metric: str, form: str, sign: int = 1) -> str:
    """Return the difference of another method to ours (sign -1: of ours to it), with its error and p-value."""
    found = other.difference.get(metric)
    if found is None or math.isnan(found.p):
        return ""
    text = p_value(found.p)
    gap = difference(replace(found, mean=sign * found.mean))
    return form.format(f"{gap}, p {text if text.startswith('<') else f'= {text}'}")
