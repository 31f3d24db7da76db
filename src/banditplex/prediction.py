"""What a fitted model answers, learning nothing: logits of pairs, on the training graph or one with the same layers."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from scipy.special import expit, logit
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import threads_for
from banditplex.bandits import Policy
from banditplex.bandits.arms import to_layer
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.names import no_target
from banditplex.nn import HiddenEdges, Network, PackedGraph
from banditplex.nn.ensemble import beside_of, joined, members_of
from banditplex.nn.known import Known
from banditplex.nn.panels import Panels
from banditplex.nn.query import Query
from banditplex.nn.scoring import score_by_layer, score_terms, score_unlinked
from banditplex.nn.view import View, pack
from banditplex.pairs.known import KnownPairs, PairSpace, restrict
from banditplex.rng import stream

EDGE_FOLDS = 8  # known edges are scored in so many groups; the encoder does not see those of the group that is scored
CEILING, SHARP = 0.99, 24.0
"""The largest probability at a prior that holds among all unknown pairs, and how late probabilities bend to it."""
MISSING = 0.1  # share of all links that are taken to be unknown where no prior is given: every tenth


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps the scores of each target to log ratios: of their frequencies among links and among all unknown pairs.

    All targets share a piecewise linear curve, which rises and is 0 at the first knot; each has a factor and a bias.
    """

    knots: Floats  # (K,) scores, rising
    slopes: Floats  # (K + 1,) of the curve between knots, > 0
    factor: Floats  # (T,) > 0
    bias: Floats  # (T,)
    most: Floats  # (T,) the largest share of links that unknown pairs may have: there are as many as known ones

    @classmethod
    def scaled(cls, num_targets: int, slope: float = 1.0) -> "Calibration":
        """Return a calibration that multiplies all scores by a slope, as if no unknown pair were a link."""
        zeros = np.zeros(num_targets)
        return cls(np.zeros(1), np.ones(2), zeros + slope, zeros, zeros)

    def ratio(self, score: Floats, instance: int) -> Floats:
        """Return the log ratio (n,) of scores (n,) of a target."""
        return self.factor[instance] * (segments(score, self.knots) @ self.slopes) + self.bias[instance]

    def probability(self, score: Floats, instance: int, prior: float) -> Floats:
        """Return the probability (n,) of links among pairs of which a share `prior` are links.

        A prior of at most `most` is taken as the share among all unknown pairs: the probability is prior x ratio, and
        close to `CEILING` it grows slower. With a larger prior, the odds are those at `most`, times the ratio of the
        priors' odds.
        """
        among = max(min(prior, float(self.most[instance])), 1e-300)
        share = self.ratio(score, instance) + np.log(among)
        share = share - np.logaddexp(0, SHARP * (share - np.log(CEILING))) / SHARP
        return expit(share - np.log1p(-np.exp(share)) - logit(among) + logit(prior))


def segments(score: Floats, knots: Floats) -> Floats:
    """Return how far scores (n,) reach below the first of the knots (K,), and into each stretch above, (n, K + 1)."""
    low, high = np.append(-np.inf, knots), np.append(knots, np.inf)
    return np.clip(score[:, None], low, high) - np.append(knots[0], knots)


class Source(Protocol):
    """What makes the graph that predictions see when they first need it: the data of a training."""

    @property
    def device(self) -> torch.device:
        """Where the graph is."""

    @property
    def full_view(self) -> View:
        """The graph on the device."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network with all that its predictions need; the training graph is part of it."""

    mx: Multiplex  # the training graph
    model: Network
    source: View | Source  # the same on the device, or what can make it
    policy: Policy | None
    targets: Ints  # (T,) layer indices
    panels: Panels  # the layers that are pooled with each target
    layers: Ints  # (T, m): other layers of each target, the most probable first
    counts: Ints  # (T,): how many of them predictions use
    calibration: Calibration
    seed: int  # of random streams
    gains: list[dict[str, Any]] | None = None  # rows of `layer_gains`, once they have been computed

    @property
    def networks(self) -> "FittedModel":
        """The model without what is beside its networks."""
        return replace(self, model=joined(members_of(self.model)))

    @property
    def view(self) -> View:
        """The training graph on the device."""
        return self.source if isinstance(self.source, View) else self.source.full_view

    def instance(self, layer: Name) -> int:
        """Return the position of a layer among the targets."""
        place = np.flatnonzero(self.targets == self.mx.layer_index(layer))
        if not len(place):
            raise no_target(layer, [self.mx.layer_names[target] for target in self.targets])
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
        view = pack(mx, self.source.device, self.model.visibility, self.panels)
        return replace(self, mx=mx, model=model, source=view)

    def density(self, layer: Name) -> float:
        """Return the share of links among all possible pairs of a layer, never 0 or 1."""
        mx = self.mx.subset(layers=[layer])
        free = restrict(KnownPairs(mx), mx).num_free()[0]
        size = np.count_nonzero(mx.edge_index[0] != mx.edge_index[1])
        possible = max(1, size + free)
        return float(np.clip(size, 0.5, possible - 0.5) / possible)

    def default_prior(self, layer: Name) -> float:
        """Return the share of links among unknown pairs if every tenth of all links is unknown; it is at most 1/2."""
        density = self.density(layer)
        return min(0.5, density / (1 - density) * MISSING / (1 - MISSING))

    def check_prior(self, prior: float | None, layer: Name) -> float:
        """Return a prior that was given, or the default one; refuse one that is no probability."""
        if prior is None:
            return self.default_prior(layer)
        if not isinstance(prior, int | float | np.number) or not 0 < prior < 1:
            raise InputError(f"Expected prior between 0 and 1, got {prior!r}.")
        return float(prior)

    def probability(self, pairs: Ints, layer: Name, prior: float | None) -> Floats:
        """Return the probabilities (n,) of pairs (n, 2) of node indices: 0 if the layer does not link their types."""
        instance, prior = self.instance(layer), self.check_prior(prior, layer)
        chance = self.calibration.probability(self.logits(pairs, layer), instance, prior)
        if self.mx.node_types is None:
            return chance
        return chance * PairSpace(self.mx).contains(np.full(len(pairs), self.mx.layer_index(layer)), pairs)

    def logits(self, pairs: Ints, layer: Name, *, draws: int = 0) -> Floats:
        """Return the logits (n,) of pairs (n, 2) of node indices in a target layer.

        With `draws`, the result is the mean over this many draws of the policy instead of its most probable layers, by
        the networks alone: what is beside them does not know of draws.
        """
        if not isinstance(draws, int | np.integer) or draws < 0:
            raise InputError(f"Expected draws to be an integer of at least 0, got {draws!r}.")
        instance = self.instance(layer)
        chosen, share = self._choose(instance, draws)
        with threads_for(self.mx.num_edges):
            terms = (self if share is None else self.networks)._terms(pairs, instance, chosen)
        result = terms.sum(1) if share is None else terms[:, 0] + terms[:, 1:] @ share
        return result.cpu().numpy().astype(np.float64)

    def logits_of_targets(self, pairs: Ints, instance: Ints, known: Known | None = None) -> Floats:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,); what is known of them may be given."""
        result = np.empty(len(pairs))
        if self.model.encoder is not None:  # which hides edges of one target at a time
            for number in np.unique(instance).tolist():
                at = instance == number
                result[at] = self.logits(pairs[at], self.mx.layer_names[self.targets[number]])
            return result
        for count in np.unique(self.counts).tolist():  # at most as many as there are layers to choose from
            at = np.flatnonzero(self.counts[instance] == count)
            query = self._query(pairs[at], self.targets[instance[at]], self.layers[instance[at], :count])
            if known is not None:
                query = replace(query, known=known.take(torch.from_numpy(at).to(self.view.device)))
            with threads_for(self.mx.num_edges):
                result[at] = score_terms(self.model, self.view, query).sum(1).cpu().numpy()
        return result

    def terms(self, pairs: Ints, layer: Name, *, linked: bool = True) -> tuple[Ints, Floats]:
        """Return the layers (m,) that predictions in a target use, and the terms (n, 1 + m) that make up the logits.

        The first term is that of the target layer and of the evidence of all layers. Unless `linked`, terms are those
        that pairs would have if no other layer had them.
        """
        instance = self.instance(layer)
        chosen, _ = self._choose(instance, 0)
        with threads_for(self.mx.num_edges):
            terms = self._terms(pairs, instance, chosen, linked=linked)
        return chosen, terms.cpu().numpy().astype(np.float64)

    def _terms(self, pairs: Ints, instance: int, chosen: Ints, *, linked: bool = True) -> Tensor:
        """Return the terms (n, 1 + m) of pairs (n, 2) in a target, with some other layers (m,)."""
        score = score_terms if linked else score_unlinked
        table = np.append(self.targets[instance], chosen)[None]
        view = self.view.only(torch.from_numpy(np.unique(table)).to(self.view.device))
        size = len(pairs)
        query = self._query(pairs, np.full(size, self.targets[instance]), np.broadcast_to(chosen, (size, len(chosen))))
        hiding = np.unique(view.visibility.hidden_layers(table))
        edges = [self.mx.edges(self.mx.layer_names[layer]) for layer in hiding.tolist()]
        layer = torch.from_numpy(np.repeat(hiding, [each.shape[1] for each in edges])).to(view.device)
        known = HiddenEdges(torch.from_numpy(np.concatenate(edges, axis=1).T).to(view.device), layer)
        fold = self._folds(view.graph, query.pairs, hiding)
        result = torch.zeros(size, 1 + len(chosen), device=view.device)
        for number in torch.unique(fold).tolist():
            at = fold == number
            here = known.pairs.sum(1) % EDGE_FOLDS == number
            hidden = HiddenEdges(known.pairs[here], known.layer[here])
            result[at] = score(self.model, view, replace(query.take(at), hidden=hidden))
        return result

    def logits_by_layer(self, pairs: Ints, target: Ints, others: Ints) -> Floats:
        """Return the networks' logits (n, m) of pairs (n, 2) in targets (n,), with each other layer (n, m) alone."""
        for index in np.unique(target[~np.isin(target, self.targets)])[:1].tolist():
            self.instance(self.mx.layer_names[index])  # refuses
        query = self._query(pairs, target, others)
        known = self.view.graph.has_edge(query.pairs, query.target)
        if known.any():
            pair = tuple(self.mx.node_names[pairs[int(known.nonzero()[0])]].tolist())
            raise InputError(f"Expected pairs that are not edges of their layer in the training graph, got {pair}.")
        with threads_for(self.mx.num_edges):
            logits = score_by_layer(self.networks.model, self.view, query)
        return logits.cpu().numpy().astype(np.float64)

    def _query(self, pairs: Ints, target: Ints, layers: Ints) -> Query:
        """Return a query about pairs (n, 2) in targets (n,) with other layers (n, m)."""
        ordered = pairs if self.mx.directed else np.sort(pairs, axis=1)
        arrays = (np.array(each, order="C") for each in (ordered, target, layers))
        place, of_target, others = (torch.from_numpy(each).to(self.view.device) for each in arrays)
        return Query(place, of_target, others)

    def _choose(self, instance: int, draws: int) -> tuple[Ints, Tensor | None]:
        """Return the layers (m,) to look at, and the share of draws (m,) that each has, if layers are drawn."""
        if not draws or self.policy is None:
            return self.layers[instance, : self.counts[instance]], None
        rng = stream(self.seed, "prediction draws")
        drawn = np.concatenate([self.policy.draw(rng, [instance]).arms[0] for _ in range(draws)])
        arms, count = np.unique(drawn, return_counts=True)
        share = torch.tensor(count / draws, dtype=torch.float32, device=self.view.device)
        return to_layer(self.targets[instance], arms), share

    def _folds(self, graph: PackedGraph, pairs: Tensor, layers: Ints) -> Tensor:
        """Return the fold of pairs that layers link in either direction; -1 for others, and without an encoder."""
        nothing = torch.full((len(pairs),), -1, device=graph.device)
        if self.model.encoder is None:
            return nothing
        known = torch.zeros_like(nothing, dtype=torch.bool)
        for index in layers.tolist():
            layer = torch.full_like(nothing, index)
            known |= graph.has_edge(pairs, layer) | graph.has_edge(pairs.flip(1), layer)
        return torch.where(known, pairs.sum(1) % EDGE_FOLDS, nothing)

    def _check_context(self, context: Multiplex) -> Multiplex:
        """Return the context with the layers in the order of training; refuse one that the model cannot read."""
        if not isinstance(context, Multiplex):
            raise InputError(f"Expected a Multiplex as context, got {type(context).__name__}.")
        if context.directed != self.mx.directed:
            raise InputError(f"Expected a context with directed={self.mx.directed}, got directed={context.directed}.")
        context = context.subset(layers=self.mx.layer_names)
        trained, given = (0 if mx.node_features is None else mx.node_features.shape[1] for mx in (self.mx, context))
        if trained != given:
            raise InputError(f"Expected a context with {trained} node features, got {given}.")
        encoder = self.model.encoder
        if encoder is not None and not trained and not np.array_equal(context.node_names, self.mx.node_names):
            raise InputError(
                "Expected a context with the nodes of training: without node features the model knows nothing of new "
                "nodes (train with node features, or with width=0)."
            )
        return context
