"""Why a pair has its score, and in which layers it is likely."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from banditplex.multiplex import Multiplex, Name
from banditplex.nn.ensemble import members_of
from banditplex.pairs.known import Ints
from banditplex.prediction import FittedModel

Floats = NDArray[np.float64]


def explain(fitted: FittedModel, pairs: Ints, layer: Name) -> pd.DataFrame:
    """Return the terms of the logits of pairs (n, 2), as `LinkPredictor.explain` says."""
    chosen, terms = fitted.terms(pairs, layer)
    target, size = fitted.mx.layer_index(layer), len(pairs)
    which, having, reverse, part = _layers_that_have(fitted, pairs, target)
    own = terms[:, 0] - np.bincount(which, part, size)
    pair = np.concatenate([np.arange(size), which, np.repeat(np.arange(size), len(chosen))])
    index = np.concatenate([np.full(size, target), having, np.tile(chosen, size)])
    kind = np.concatenate([np.zeros(size, np.int64), 1 + reverse, np.full(size * len(chosen), 3)])
    value = np.concatenate([own, part, terms[:, 1:].ravel()])
    order = np.lexsort((-np.abs(value), kind > 0, pair))
    names = np.array([fitted.layer_names[each] for each in index[order].tolist()], dtype=object)
    return _named(fitted.mx, pairs[pair[order]]).assign(
        term=np.array(["own", "edge", "reverse", "drawn"], dtype=object)[kind[order]], layer=names, value=value[order]
    )


@torch.no_grad()
def _layers_that_have(fitted: FittedModel, pairs: Ints, target: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the other layers that have pairs, as a list: which pair, layer, whether reversed, part of the logit."""
    evidence = fitted.graph.evidence
    weights = [member.listed for member in members_of(fitted.model) if member.listed is not None]
    if evidence is None or not weights:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing, np.empty(0)
    asked = torch.from_numpy(np.array(pairs)).to(fitted.graph.device)
    of = torch.full((len(pairs),), target, device=asked.device)
    found = evidence.layers_of(asked, of)
    part = torch.stack([listed.each(len(pairs), of, *found) for listed in weights]).mean(0)
    which, layer, reverse = (each.cpu().numpy() for each in found)
    return which, layer, reverse, part.cpu().numpy().astype(np.float64)


def which_layers(fitted: FittedModel, pairs: Ints, prior: float | None = None) -> pd.DataFrame:
    """Return the probabilities of pairs (n, 2) in all target layers, as `LinkPredictor.which_layers` says."""
    names = [fitted.layer_names[target] for target in fitted.targets.tolist()]
    table = np.stack(
        [
            fitted.calibration.probability(fitted.logits(pairs, name), place, fitted.check_prior(prior, name))
            for place, name in enumerate(names)
        ],
        axis=1,
    )
    order = np.argsort(-table, axis=1, kind="stable")
    pair = np.repeat(pairs, len(names), axis=0)
    known = np.stack([fitted.mx.has_edges(pairs, name) for name in names], axis=1)
    return _named(fitted.mx, pair).assign(
        layer=np.array([names[place] for place in order.ravel().tolist()], dtype=object),
        probability=np.take_along_axis(table, order, 1).ravel(),
        known=np.take_along_axis(known, order, 1).ravel(),
    )


def _named(mx: Multiplex, pairs: Ints) -> pd.DataFrame:
    return pd.DataFrame({"source": mx.node_names[pairs[:, 0]], "destination": mx.node_names[pairs[:, 1]]})
