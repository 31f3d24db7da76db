"""Variants of our learner that are more than other settings."""

import inspect
from dataclasses import replace
from typing import Any, Self

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor

DRAWS = 32
"""Draws whose mean is the score of `MeanOfDraws`."""


class Variant:
    """A link predictor with the settings of `LinkPredictor`, which fits or scores in another way."""

    __signature__ = inspect.signature(LinkPredictor)

    def __init__(self, **settings: Any) -> None:
        self.model = LinkPredictor(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings of the model."""
        return dict(self.model.get_params(deep))

    def set_params(self, **settings: Any) -> Self:
        """Set settings of the model."""
        self.model.set_params(**settings)
        return self

    def fit(self, mx: Any, targets: Any = None, on_epoch: Any = None) -> Self:
        """Fit the model."""
        self.model.fit(mx, targets, on_epoch)
        return self

    def score_pairs(self, pairs: Any, layer: Any) -> Any:
        """Return the scores of pairs."""
        return self.model.score_pairs(pairs, layer)

    @property
    def num_parameters_(self) -> int:
        """Number of trained weights."""
        return self.model.num_parameters_


class MeanOfDraws(Variant):
    """A link predictor that scores with the mean over draws of its policy.

    This is the best form of a policy without a preference: its most probable layers are random.
    """

    def score_pairs(self, pairs: Any, layer: Any) -> Any:
        """Return the mean score of pairs over draws."""
        return self.model.score_pairs(pairs, layer, draws=DRAWS)


class WithUnion(Variant):
    """A link predictor that looks at the target layer and at the union of all other layers, as if it were one layer.

    The edge of a pair in the union may be seen if a layer shows it that may be seen. Nothing is drawn.
    """

    def fit(self, mx: Any, targets: Any = None, on_epoch: Any = None) -> Self:
        """Fit the model; targets share all weights but those of layers."""
        names = list(mx.layer_names if targets is None else targets)
        if mx.num_layers == 1:
            policy: dict[str, Any] = {"policy": "none", "policy_options": None}
        else:  # arms are numbered without the target itself
            arms = [[len(names) + place - 1] for place in range(len(names))]
            policy = {"policy": "fixed", "policy_options": {"arms": arms}}
        self._place = {name: place for place, name in enumerate(names)}
        self.model.set_params(**policy).fit(beside_unions(mx, names), list(self._place.values()), on_epoch)
        return self

    def score_pairs(self, pairs: Any, layer: Any) -> Any:
        """Return the scores of pairs."""
        if layer not in self._place:
            raise InputError(f"Expected a target of fit as layer, got {layer!r}.")
        return self.model.score_pairs(pairs, self._place[layer])


def beside_unions(mx: Multiplex, targets: list[Name]) -> Multiplex:
    """Return the target layers, and after them, in the same order, the union of all layers but each; all have numbers.

    >>> mx = Multiplex.from_edges([0, 0, 1], [1, 1, 2], ["a", "b", "b"])
    >>> beside_unions(mx, ["a", "b"]).to_pandas()[["source", "destination", "layer"]].to_numpy().tolist()
    [[0, 1, 0], [0, 1, 1], [1, 2, 1], [0, 1, 2], [1, 2, 2], [0, 1, 3]]
    """
    own = mx.subset(targets)
    keys = mx.edge_index[0] * mx.num_nodes + mx.edge_index[1]
    pairs, count = np.unique(keys, return_counts=True)
    elsewhere = np.ones((len(targets), len(pairs)), np.bool_)  # whether another layer has the pair
    place = np.searchsorted(pairs, own.edge_index[0] * mx.num_nodes + own.edge_index[1])
    elsewhere[own.edge_layer, place] = count[place] > 1
    pair = np.nonzero(elsewhere)[1]
    source, destination = np.divmod(pairs[pair], max(mx.num_nodes, 1))
    ends = np.concatenate([own.edge_index, np.stack([source, destination])], axis=1)
    offsets = np.append(own.layer_offsets, own.num_edges + np.cumsum(elsewhere.sum(1)))
    layers = tuple(range(2 * len(targets)))
    return replace(own, edge_index=ends, layer_offsets=offsets, layer_names=layers, weight=None, time=None)
