"""The first lines of the page: what was found, in plain sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from banditplex.markdown import number
from banditplex.multiplex import Multiplex

Sentence = list[str | int]  # words and layers in turn; a layer is its index
NAMED = 3  # findings, or layers, that a sentence names
FIRST = 5  # links to check first
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
CHANCE = "predicted clearly better than by chance"


def find_help(gains: pd.DataFrame, mx: Multiplex) -> Sentence:
    """Say which layers help which, given `layer_gains_` with the largest gain of a layer that helps first."""
    if gains.empty:
        return ["There is only one layer, so no other layer can help."]
    if gains["gain"].isna().all():
        return ["There are too few edges to tell whether other layers help."]
    helpers: dict[int, list[int]] = {}
    for target, layer in gains.loc[gains["helps"].astype(bool), ["target", "layer"]].itertuples(index=False):
        helpers.setdefault(mx.layer_index(target), []).append(mx.layer_index(layer))
    if not helpers:
        return ["No layer is shown to help another."]
    if len(helpers) > 2 * NAMED:
        target, layers = next(iter(helpers.items()))
        many = f"{_word(len(helpers))} of {_word(gains['target'].nunique())} layers are helped by another one"
        return [f"{many.capitalize()}: most of all, ", layers[0], " helps ", target, "."]
    said: Sentence = []
    while helpers:
        target, layers = next(iter(helpers.items()))
        del helpers[target]
        said += ["; "] if said else []
        if len(layers) == 1 and helpers.get(layers[0]) == [target]:
            del helpers[layers[0]]
            said += [*_listed([target, *layers]), " help each other"]
        else:
            said += [*_listed(layers), " helps " if len(layers) == 1 else " help ", target]
    return [*said, "."]


def find_quality(targets: Sequence[int], held_out: Mapping[str, Any] | None) -> Sentence:
    """Say which targets are predicted better than by chance, given their quality on held-out edges."""
    if held_out is None:
        return ["How well links are predicted is not known: there are no results on held-out edges."]
    clear = clear_targets(targets, held_out)
    others = [target for target in targets if target not in clear]
    if not clear:
        return [f"No layer is {CHANCE}."]
    if not others:
        every: Sentence = _listed(targets) if len(targets) <= 2 else [f"All {_word(len(targets))} layers"]
        return [*every, f" {_are(targets)} {CHANCE}."]
    if len(others) <= NAMED:
        rest = f"the other {_word(len(clear))} layers are" if len(clear) > 1 else "the other layer is"
        return [*_listed(others), f" {_are(others)} not {CHANCE}; {rest}."]
    named: Sentence = ["; ", *_listed(clear), f" {_are(clear)}"] if len(clear) <= NAMED else []
    many = f"{_word(len(others))} of {_word(len(targets))}"
    return [f"{many.capitalize()} layers are not {CHANCE}", *named, "."]


def find_links(links: Mapping[str, Any], targets: Sequence[int], held_out: Mapping[str, Any] | None) -> Sentence:
    """Say how many links to check first: those of targets that are predicted better than by chance."""
    if held_out is None:
        return ["The most probable new links are in the table below."]
    clear = set(clear_targets(targets, held_out))
    many = min(FIRST, sum(len(part["source"]) for part in links["targets"] if part["target"] in clear))
    if not many:
        return ["Take none of the predicted links as a finding."]
    return [f"{_word(many).capitalize()} link{'s' * (many > 1)} to check first, at the top of the table below."]


def find_policies(comparison: Mapping[str, Any]) -> Sentence:
    """Say which policy is the best of a comparison, and which ones clearly differ from the reference."""
    metric = next((each for each in comparison["metrics"] if each["name"] == "roc_auc"), comparison["metrics"][0])
    lines = [line for line in comparison["lines"] if line["metric"] == metric["name"]]
    if len(lines) < 2:
        return []
    best = max(lines, key=lambda line: line["mean"])
    highest = f"{best['method']} has the highest {metric['title']}, {number(best['mean'])}"
    said = f"Of {_word(len(lines))} policies, {highest}"
    tested = {line["method"]: line["p"] for line in lines if not pd.isna(line.get("p"))}
    if not tested:
        return [f"{said}."]
    sure = [method for method, p in tested.items() if p < 0.05]
    verb = "differs" if len(sure) < 2 else "differ"
    return [f"{said}; {' and '.join(sure) or 'none'} clearly {verb} from {comparison['reference']}."]


def clear_targets(targets: Sequence[int], held_out: Mapping[str, Any]) -> list[int]:
    """Return the targets that are predicted better than by chance."""
    rows = zip(targets, held_out["targets"], strict=True)
    return [target for target, row in rows if row["clear"]]


def _word(number: int) -> str:
    return WORDS[number] if number < len(WORDS) else f"{number:,}"


def _are(layers: Sequence[int]) -> str:
    return "is" if len(layers) == 1 else "are"


def _listed(layers: Sequence[int]) -> Sentence:
    """Return layers with commas, and "and" before the last; beyond `NAMED`, how many more there are."""
    few = layers if len(layers) <= NAMED else layers[: NAMED - 1]
    said: Sentence = [few[0]]
    for layer in few[1:]:
        said += [", ", layer]
    if len(few) < len(layers):
        return [*said, f" and {_word(len(layers) - len(few))} more"]
    return said if len(few) == 1 else [*said[:-2], " and ", few[-1]]
