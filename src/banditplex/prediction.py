"""What a fitted model answers: logits of pairs, on the training graph or on another one with the same layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.bandits import Policy
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import HiddenEdges, Network, PackedGraph
from banditplex.nn.ensemble import beside_of, joined, members_of
from banditplex.nn.evidence import pack
from banditplex.nn.scoring import score_by_layer, score_terms, score_unlinked
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.space import restrict
from banditplex.rng import stream
from banditplex.training.calibration import Calibration, HeldOut, fit, score_held_out
from banditplex.training.config import Config
from banditplex.training.data import TrainingData, node_features
from banditplex.training.draws import to_layer
from banditplex.training.loop import Trainer
from banditplex.training.members import choose_layers
from banditplex.training.regression import Used
from banditplex.training.stacking import MemberModel, put_beside

Ints = NDArray[np.int64]
FOLDS = 8
"""Known edges are scored in this many groups; the encoder does not see the edges of the group that is scored."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network with all that its predictions need; the training graph is part of it."""

    mx: Multiplex  # the training graph
    model: Network
    source: PackedGraph | TrainingData  # the same on the device, or what can make it
    policy: Policy | None
    targets: Ints  # (T,) layer indices
    layers: Ints  # (T, m): other layers of each target, the most probable first
    counts: Ints  # (T,): how many of them predictions use
    calibration: Calibration
    config: Config  # the settings that it was trained with
    gains: list[dict[str, Any]] | None = None  # rows of `layer_gains`, once they have been computed
    held_out: HeldOut | None = None  # what probabilities were calibrated with, after training; it is not saved

    @classmethod
    def from_trainers(cls, trainers: Sequence[Trainer], *, finished: bool = True) -> "FittedModel":
        """Take over the state of the trainers of all members so far.

        If training has finished, other terms may be put beside the networks, and probabilities are calibrated; before,
        a temperature is fitted to the validation pairs.
        """
        data, config = trainers[0].data, trainers[0].config
        layers = choose_layers(trainers, finished=finished)
        calibration = Calibration.scaled(len(data.targets), 1 / trainers[-1].validate().temperature())
        model = joined([trainer.ema_model for trainer in trainers])
        fitted = cls(data.full_mx, model, data, trainers[-1].policy, data.targets, *layers, calibration, config)
        if not finished:
            return fitted
        if not any(len(each.data.validation_edges) for each in trainers):
            return replace(fitted, calibration=Calibration.scaled(len(data.targets)))
        held_out = fitted._score_held_out(trainers, [fitted._before_validation(each) for each in trainers])
        if len(trainers) > 1 and config.sees_all:  # models of drawn layers alone stay as in the paper
            score = partial(fitted._score_held_out, trainers)
            beside, held_out = put_beside(held_out, trainers, Used(*layers), score)
            fitted = replace(fitted, model=joined(members_of(model), beside))
        return replace(fitted, calibration=fit(*held_out), held_out=held_out)

    def _score_held_out(self, trainers: Sequence[Trainer], models: Sequence[MemberModel]) -> HeldOut:
        """Return the scores that models of the members give to held-out pairs, always the same ones."""
        alone = [(trainer.data, model.logits_of_targets) for trainer, model in zip(trainers, models, strict=True)]
        return score_held_out(alone, stream(self.config.seed, "calibration"), self.config.unknown_share)

    def _before_validation(self, trainer: Trainer) -> "FittedModel":
        """Return the network of one member on the graph that it was trained on, without its validation edges."""
        return replace(self, model=trainer.ema_model, source=trainer.data.train_graph)

    @property
    def networks(self) -> "FittedModel":
        """The model without what is beside its networks."""
        return replace(self, model=joined(members_of(self.model)))

    @property
    def graph(self) -> PackedGraph:
        """The training graph on the device."""
        return self.source if isinstance(self.source, PackedGraph) else self.source.full_graph

    @property
    def layer_names(self) -> tuple[Name, ...]:
        """The names of all layers."""
        return self.mx.layer_names

    def instance(self, layer: Name) -> int:
        """Return the position of a layer among the targets."""
        index = self.mx.layer_index(layer)
        place = np.flatnonzero(self.targets == index)
        if not len(place):
            known = ", ".join(repr(self.mx.layer_names[target]) for target in self.targets[:10])
            more = ", ..." if len(self.targets) > 10 else ""
            raise InputError(f"Expected a layer that was a target of training ({known}{more}), got {layer!r}.")
        return int(place[0])

    def within(self, context: Multiplex | None) -> "FittedModel":
        """Return the model on another multiplex with the same layers; None is the training graph."""
        if context is None:
            return self
        mx = self._check_context(context)
        model, beside = self.model, beside_of(self.model)
        if beside is not None and not np.array_equal(mx.node_names, self.mx.node_names):
            place = pd.Index(self.mx.node_names).get_indexer(pd.Index(mx.node_names))
            model = joined(members_of(model), beside.in_graph(torch.from_numpy(place).to(self.source.device)))
        return replace(self, mx=mx, model=model, source=pack(mx, self.source.device, self.model.visibility))

    def density(self, layer: Name) -> float:
        """Return the share of links among all possible pairs of a layer, never 0 or 1."""
        mx = self.mx.subset(layers=[layer])
        free = restrict(KnownPairs(mx), mx).num_free()[0]
        size = np.count_nonzero(mx.edge_index[0] != mx.edge_index[1])
        possible = max(1, size + free)
        return float(np.clip(size, 0.5, possible - 0.5) / possible)

    def check_prior(self, prior: float | None, layer: Name) -> float:
        """Return a prior that was given, or the density of the layer; refuse one that is no probability."""
        if prior is None:
            return self.density(layer)
        if not isinstance(prior, int | float | np.number) or not 0 < prior < 1:
            raise InputError(f"Expected prior between 0 and 1, got {prior!r}.")
        return float(prior)

    def logits(self, pairs: Ints, layer: Name, *, draws: int = 0) -> NDArray[np.float64]:
        """Return the logits (n,) of pairs (n, 2) of node indices in a target layer.

        With `draws`, the result is the mean over this many draws of the policy instead of its most probable layers, by
        the networks alone: what is beside them does not know of draws.
        """
        if not isinstance(draws, int | np.integer) or draws < 0:
            raise InputError(f"Expected draws to be an integer of at least 0, got {draws!r}.")
        instance = self.instance(layer)
        chosen, share = self._choose(instance, draws)
        terms = (self if share is None else self.networks)._terms(pairs, instance, chosen)
        result = terms.sum(1) if share is None else terms[:, 0] + terms[:, 1:] @ share
        return result.cpu().numpy().astype(np.float64)

    def logits_of_targets(self, pairs: Ints, instance: Ints) -> NDArray[np.float64]:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,)."""
        result = np.empty(len(pairs))
        if self.model.encoder is not None:  # which hides edges of one target at a time
            numbers = np.unique(instance).tolist()
            for turn in range(self.graph.most(len(numbers))):
                number = numbers[turn] if turn < len(numbers) else 0  # none, while other processes ask for layers
                at = instance == number if turn < len(numbers) else instance < 0
                result[at] = self.logits(pairs[at], self.layer_names[self.targets[number]])
            return result
        ordered = pairs if self.graph.directed else np.sort(pairs, axis=1)
        nothing = HiddenEdges(self.graph.layer_rows.new_zeros(0, 2), self.graph.layer_rows.new_zeros(0))
        for count in np.unique(self.counts).tolist():  # at most as many as there are layers to choose from
            at = np.flatnonzero(self.counts[instance] == count)
            place, target, layers = (
                torch.from_numpy(np.ascontiguousarray(each)).to(self.graph.device)
                for each in (ordered[at], self.targets[instance[at]], self.layers[instance[at], :count])
            )
            terms = score_terms(self.model, self.graph, None, place, target, layers, nothing)
            result[at] = terms.sum(1).cpu().numpy()
        return result

    def terms(self, pairs: Ints, layer: Name, *, linked: bool = True) -> tuple[Ints, NDArray[np.float64]]:
        """Return the layers (m,) that predictions in a target use, and the terms (n, 1 + m) that make up the logits.

        The first term is that of the target layer and of the evidence of all layers. Unless `linked`, terms are those
        that pairs would have if no other layer had them.
        """
        instance = self.instance(layer)
        chosen, _ = self._choose(instance, 0)
        return chosen, self._terms(pairs, instance, chosen, linked=linked).cpu().numpy().astype(np.float64)

    def _terms(self, pairs: Ints, instance: int, chosen: Ints, *, linked: bool = True) -> Tensor:
        """Return the terms (n, 1 + m) of pairs (n, 2) in a target, with some other layers (m,)."""
        score = score_terms if linked else score_unlinked
        table = np.append(self.targets[instance], chosen)[None]
        graph = self.graph
        if graph.elsewhere is None:
            graph = graph.only(torch.from_numpy(np.unique(table)).to(graph.device))
        if not graph.directed:
            pairs = np.sort(pairs, axis=1)
        place = torch.from_numpy(np.array(pairs)).to(graph.device)
        layers = torch.from_numpy(table).to(graph.device).expand(len(pairs), -1)
        features = node_features(self.mx, graph.device)
        hiding = np.unique(self.model.visibility.hidden_layers(table))
        known, fold = self._known_edges(hiding), self._folds(graph, place, hiding)
        result = torch.zeros(layers.shape, device=graph.device)
        for number in torch.unique(fold).tolist() if graph.elsewhere is None else range(-1, FOLDS * graph.directed):
            at = fold == number
            here = known.pairs.sum(1) % FOLDS == number
            hidden = HiddenEdges(known.pairs[here], known.layer[here])
            result[at] = score(self.model, graph, features, place[at], layers[at, 0], layers[at, 1:], hidden)
        return result

    def logits_by_layer(self, pairs: Ints, target: Ints, others: Ints) -> NDArray[np.float64]:
        """Return the logits (n, m) of pairs (n, 2) in target layers (n,) with each of the other layers (n, m) alone.

        They are those of the networks alone, as with `draws`.
        """
        for index in np.unique(target[~np.isin(target, self.targets)])[:1].tolist():
            self.instance(self.mx.layer_names[index])  # refuses
        ordered = pairs if self.graph.directed else np.sort(pairs, axis=1)
        place, layer, other = (
            torch.from_numpy(np.ascontiguousarray(array)).to(self.graph.device) for array in (ordered, target, others)
        )
        known = self.graph.has_edge(place, layer)
        if known.any():
            pair = tuple(self.mx.node_names[pairs[int(known.nonzero()[0])]].tolist())
            raise InputError(f"Expected pairs that are not edges of their layer in the training graph, got {pair}.")
        features = node_features(self.mx, self.graph.device)
        logits = score_by_layer(self.networks.model, self.graph, features, place, layer, other)
        return logits.cpu().numpy().astype(np.float64)

    def _choose(self, instance: int, draws: int) -> tuple[Ints, Tensor | None]:
        """Return the layers (m,) to look at, and the share of draws (m,) that each has, if layers are drawn."""
        if not draws or self.policy is None:
            return self.layers[instance, : self.counts[instance]], None
        rng = stream(self.config.seed, "prediction draws")
        drawn = np.concatenate([self.policy.draw(rng, [instance]).arms[0] for _ in range(draws)])
        arms, count = np.unique(drawn, return_counts=True)
        share = torch.tensor(count / draws, dtype=torch.float32, device=self.graph.device)
        return to_layer(self.targets[instance], arms), share

    def _folds(self, graph: PackedGraph, pairs: Tensor, layers: Ints) -> Tensor:
        """Return the fold of pairs that are known edges of some layers, -1 for others and where there is no encoder.

        Messages are undirected, so the reverse of a known edge counts as known, too.
        """
        nothing = torch.full((len(pairs),), -1, device=graph.device)
        if self.model.encoder is None:
            return nothing
        known = torch.zeros_like(nothing, dtype=torch.bool)
        for index in layers.tolist():
            layer = torch.full_like(nothing, index)
            known |= graph.has_edge(pairs, layer) | graph.has_edge(pairs.flip(1), layer)
        return torch.where(known, pairs.sum(1) % FOLDS, nothing)

    def _known_edges(self, layers: Ints) -> HiddenEdges:
        """Return all edges of some layers."""
        names = self.mx.layer_names
        found = [self.mx.edges(names[layer]) for layer in layers.tolist()]
        layer = torch.from_numpy(np.repeat(layers, [each.shape[1] for each in found]))
        pairs = torch.from_numpy(np.concatenate(found, axis=1).T)
        return HiddenEdges(pairs.to(self.graph.device), layer.to(self.graph.device))

    def _check_context(self, context: Multiplex) -> Multiplex:
        """Return the context with the layers in the order of training; refuse one that the model cannot read."""
        if not isinstance(context, Multiplex):
            raise InputError(f"Expected a Multiplex as context, got {type(context).__name__}.")
        if context.directed != self.mx.directed:
            raise InputError(f"Expected a context with directed={self.mx.directed}, got directed={context.directed}.")
        context = context.subset(layers=self.mx.layer_names)
        trained, given = (
            0 if mx.node_features is None else mx.node_features.shape[1] for mx in (self.mx, context)
        )  # fmt: skip
        if trained != given:
            raise InputError(f"Expected a context with {trained} node features, got {given}.")
        encoder = self.model.encoder
        if encoder is not None and not trained and not np.array_equal(context.node_names, self.mx.node_names):
            raise InputError(
                "Expected a context with the nodes of training: without node features the model knows nothing of new "
                "nodes (train with node features, or with width=0)."
            )
        return context
