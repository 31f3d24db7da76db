"""A trained model, with all that predictions need: the training graph travels with it."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from banditplex.bandits import Policy
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import MultiplexModel, PackedGraph
from banditplex.nn.scoring import score, score_by_layer
from banditplex.rng import stream
from banditplex.training.calibration import best_temperature
from banditplex.training.config import Config
from banditplex.training.draws import to_layer
from banditplex.training.loop import Trainer, as_features
from banditplex.training.union import with_union, without_union

Ints = NDArray[np.int64]
FOLDS = 8
"""A known edge is scored while its eighth of the target layer's edges is hidden from the encoder."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What `LinkPredictor.fit` leaves behind."""

    mx: Multiplex  # the training graph, with its union as the last layer if `graph.union`
    model: MultiplexModel
    graph: PackedGraph
    policy: Policy | None
    targets: Ints  # (T,) layer indices
    layers: Ints  # (T, k): the other layers that predictions in each target use
    temperature: float
    config: Config  # the settings that it was trained with

    @classmethod
    def from_trainer(cls, trainer: Trainer) -> "Fitted":
        """Take over the state of a trainer; the temperature is fitted on the validation pairs."""
        return cls(
            trainer.mx, trainer.mean, trainer.whole, trainer.policy, trainer.targets, trainer.chosen_layers(),
            fit_temperature(trainer), trainer.config,
        )  # fmt: skip

    def instance(self, layer: Name) -> int:
        """Return which target a layer is."""
        index = self.mx.layer_index(layer)
        place = np.flatnonzero(self.targets == index)
        if not len(place):
            known = ", ".join(repr(self.mx.layer_names[target]) for target in self.targets[:10])
            more = ", ..." if len(self.targets) > 10 else ""
            raise InputError(f"Expected a layer that was a target of training ({known}{more}), got {layer!r}.")
        return int(place[0])

    def within(self, context: Multiplex | None) -> "Fitted":
        """Return the model as it sees another multiplex with the same layers; None is the training graph."""
        if context is None:
            return self
        mx = self._check_context(context)
        return replace(self, mx=mx, graph=PackedGraph.from_multiplex(mx, self.graph.device, union=self.graph.union))

    def logits(self, pairs: Ints, layer: Name, *, draws: int = 0) -> NDArray[np.float64]:
        """Return the logits (n,) of pairs (n, 2) of node indices in a target layer.

        With `draws`, the mean over so many draws of the policy is taken instead of its most probable layers.
        """
        if not isinstance(draws, int | np.integer) or draws < 0:
            raise InputError(f"Expected draws to be an integer of at least 0, got {draws!r}.")
        instance = self.instance(layer)
        chosen, share = self._choose(instance, draws)
        needed = np.unique(np.append(chosen, self.targets[instance]))
        graph = self.graph.only(torch.from_numpy(needed).to(self.graph.device))
        if not graph.directed:
            pairs = np.sort(pairs, axis=1)
        place = torch.from_numpy(np.array(pairs)).to(graph.device)
        target = torch.full((len(pairs),), int(self.targets[instance]), device=graph.device)
        layers = torch.from_numpy(chosen).to(graph.device).expand(len(pairs), -1)
        features = as_features(self.mx, graph.device)
        shown = needed if self.config.hide == "pair" else self.targets[[instance]]  # layers that hide known edges
        fold = self._folds(graph, place, shown)
        result = torch.zeros(len(pairs), device=graph.device)
        for number in torch.unique(fold).tolist():
            at = fold == number
            hidden = self._fold_edges(shown, number)
            result[at] = score(self.model, graph, features, place[at], target[at], layers[at], hidden, share)
        return result.cpu().numpy().astype(np.float64)

    def logits_by_layer(self, pairs: Ints, target: Ints, others: Ints) -> NDArray[np.float64]:
        """Return the logits (n, m) of pairs (n, 2) in target layers (n,) with each of the other layers (n, m) alone."""
        for index in np.unique(target[~np.isin(target, self.targets)])[:1].tolist():
            self.instance(self.mx.layer_names[index])  # refuses
        ordered = pairs if self.graph.directed else np.sort(pairs, axis=1)
        place, layer, other = (
            torch.from_numpy(np.ascontiguousarray(array)).to(self.graph.device) for array in (ordered, target, others)
        )
        known = self.graph.has_edge(place, layer)
        if known.any():
            pair = tuple(self.mx.node_names[pairs[int(known.nonzero()[0])]].tolist())
            raise InputError(f"Expected pairs that are no edges of their layer in training, got {pair}.")
        features = as_features(self.mx, self.graph.device)
        logits = score_by_layer(self.model, self.graph, features, place, layer, other)
        return logits.cpu().numpy().astype(np.float64)

    def _choose(self, instance: int, draws: int) -> tuple[Ints, torch.Tensor | None]:
        if not draws or self.policy is None:
            return self.layers[instance], None
        rng = stream(self.config.seed, "prediction draws")
        drawn = np.concatenate([self.policy.draw(rng, [instance]).arms[0] for _ in range(draws)])
        arms, count = np.unique(drawn, return_counts=True)
        share = torch.tensor(count / draws, dtype=torch.float32, device=self.graph.device)
        return to_layer(self.targets[instance], arms), share

    def _folds(self, graph: PackedGraph, pairs: torch.Tensor, layers: Ints) -> torch.Tensor:
        """Return the fold of pairs that are known edges of some layers, -1 for others and where there is no encoder.

        As in training, the encoder sees no arc between the two nodes of a directed pair, whichever way it leads.
        """
        nothing = torch.full((len(pairs),), -1, device=graph.device)
        if self.model.encoder is None:
            return nothing
        known = torch.zeros_like(nothing, dtype=torch.bool)
        for index in layers.tolist():
            layer = torch.full_like(nothing, index)
            known |= graph.has_edge(pairs, layer) | graph.has_edge(pairs.flip(1), layer)
        return torch.where(known, pairs.sum(1) % FOLDS, nothing)

    def _fold_edges(self, layers: Ints, fold: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the edges of some layers that are in a fold: pairs (n, 2) and layers (n,)."""
        found = [self.mx.edges(self.mx.layer_names[layer]).T for layer in layers.tolist()]
        parts = [edges[edges.sum(axis=1) % FOLDS == fold] if fold >= 0 else edges[:0] for edges in found]
        layer = torch.from_numpy(np.repeat(layers, [len(edges) for edges in parts]))
        return torch.from_numpy(np.concatenate(parts)).to(self.graph.device), layer.to(self.graph.device)

    def _check_context(self, context: Multiplex) -> Multiplex:
        """Return the context with the layers in the order of training; refuse one that the model cannot read."""
        if not isinstance(context, Multiplex):
            raise InputError(f"Expected a Multiplex as context, got {type(context).__name__}.")
        if context.directed != self.mx.directed:
            raise InputError(f"Expected a context with directed={self.mx.directed}, got directed={context.directed}.")
        if self.graph.union:
            context = with_union(context.subset(layers=without_union(self.mx).layer_names))
        context = context.subset(layers=self.mx.layer_names)
        trained, given = (
            0 if mx.node_features is None else mx.node_features.shape[1] for mx in (self.mx, context)
        )  # fmt: skip
        if trained != given:
            raise InputError(f"Expected a context with {trained} node features, got {given}.")
        encoder = self.model.encoder
        if encoder is not None and not trained and not np.array_equal(context.node_names, self.mx.node_names):
            raise InputError(
                "Expected a context with the nodes of training: without node features, nodes that were not trained on "
                "are unknown to the model (train with node features, or with width=0)."
            )
        return context


def fit_temperature(trainer: Trainer) -> float:
    """Return the T > 0 for which sigmoid(logit / T) has the least loss on the validation pairs; 1 without any."""
    if not len(trainer.held.instance):
        return 1.0
    _, label, logit = trainer.validation_logits()
    return best_temperature(logit, label)
