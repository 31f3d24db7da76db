"""Why a pair has its score, and in which layers it is likely."""

import numpy as np
import pandas as pd
import torch

from banditplex.arrays import Floats, Ints
from banditplex.multiplex import Multiplex, Name
from banditplex.nn.ensemble import beside_of, members_of
from banditplex.pairs.known import PairSpace
from banditplex.pairs.negatives import uniform_pairs
from banditplex.prediction import FittedModel
from banditplex.rng import stream

TERMS = ("base", "own", "edge", "reverse", "drawn")
TYPICAL = 1_000  # pairs whose mean terms are those of a typical pair


def explain(fitted: FittedModel, pairs: Ints, layer: Name) -> pd.DataFrame:
    """Return the parts of the logits of pairs (n, 2), as `LinkPredictor.explain` says.

    What a layer that has the pair adds: its own weight; an equal share of what their number adds, which does not ask
    which layers they are; and, if the layer is drawn, what its term would lose without that edge. Terms without such
    edges are given as differences from their means over typical pairs, whose sum is the term "base".
    """
    chosen, terms = fitted.terms(pairs, layer)
    _, rest = fitted.terms(pairs, layer, linked=False)
    usual = fitted.terms(_typical_pairs(fitted, layer), layer, linked=False)[1].mean(0)
    target, size = fitted.mx.layer_index(layer), len(pairs)
    which, having, reverse, part = _layers_that_have(fitted, pairs, target)
    there = np.zeros((size, 1 + len(chosen)), np.int64)  # how often the lists have the target (anyone), drawn layers
    there[:, 0] = np.bincount(which, minlength=size)
    drawn = np.nonzero(having[:, None] == chosen)
    np.add.at(there, (which[drawn[0]], 1 + drawn[1]), 1)
    rest = np.where(there > 0, rest, terms)
    lost = (terms - rest) / np.maximum(there, 1)
    value = part + lost[which, 0] - (np.bincount(which, part, size) / np.maximum(there[:, 0], 1))[which]
    np.add.at(value, drawn[0], lost[which[drawn[0]], 1 + drawn[1]])
    every = np.arange(size)
    pair = np.concatenate([every, every, which, np.repeat(every, len(chosen))])
    index = np.concatenate([np.full(2 * size, target), having, np.tile(chosen, size)])
    kind = np.concatenate([np.repeat([0, 1], size), 2 + reverse, np.full(size * len(chosen), 4)])
    centred = rest - usual
    value = np.concatenate([np.full(size, usual.sum()), centred[:, 0], value, centred[:, 1:].ravel()])
    order = np.lexsort((-np.abs(value), np.minimum(kind, 2), pair))
    names = np.array([fitted.mx.layer_names[each] for each in index[order].tolist()], dtype=object)
    term = np.array(TERMS, dtype=object)[kind[order]]
    return _named(fitted.mx, pairs[pair[order]]).assign(term=term, layer=names, value=value[order])


def _typical_pairs(fitted: FittedModel, layer: Name) -> Ints:
    """Return a sample of the pairs that a layer may link, all equally likely, always the same."""
    mx = fitted.mx
    propose = uniform_pairs(mx, None if mx.node_types is None else PairSpace(mx))
    return propose(np.full(TYPICAL, mx.layer_index(layer)), stream(fitted.seed, "typical pairs"))


@torch.no_grad()
def _layers_that_have(fitted: FittedModel, pairs: Ints, target: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the other layers that have pairs, as a list: which pair, layer, whether reversed, part of the logit."""
    evidence = fitted.view.evidence
    weights = [member.listed for member in members_of(fitted.model) if member.listed is not None]
    if evidence is None or not weights:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing, np.empty(0)
    asked = torch.from_numpy(np.array(pairs)).to(fitted.view.device)
    of = torch.full((len(pairs),), target, device=asked.device)
    found = evidence.layers_of(asked, of)
    beside, part = beside_of(fitted.model), torch.stack([w.each(len(pairs), of, *found) for w in weights]).mean(0)
    if beside is not None:
        part = beside.factor[target] * part
    which, layer, reverse = (each.cpu().numpy() for each in found)
    return which, layer, reverse, part.cpu().numpy().astype(np.float64)


def which_layers(fitted: FittedModel, pairs: Ints, prior: float | None = None) -> pd.DataFrame:
    """Return the probabilities of pairs (n, 2) in all target layers, as `LinkPredictor.which_layers` says."""
    names = [fitted.mx.layer_names[target] for target in fitted.targets.tolist()]
    table = np.stack([fitted.probability(pairs, name, prior) for name in names], axis=1)
    order = np.argsort(-table, axis=1, kind="stable")
    known = np.stack([fitted.mx.has_edges(pairs, name) for name in names], axis=1)
    return _named(fitted.mx, np.repeat(pairs, len(names), axis=0)).assign(
        layer=np.array([names[place] for place in order.ravel().tolist()], dtype=object),
        probability=np.take_along_axis(table, order, 1).ravel(),
        known=np.take_along_axis(known, order, 1).ravel(),
    )


def _named(mx: Multiplex, pairs: Ints) -> pd.DataFrame:
    return pd.DataFrame({"source": mx.node_names[pairs[:, 0]], "destination": mx.node_names[pairs[:, 1]]})
