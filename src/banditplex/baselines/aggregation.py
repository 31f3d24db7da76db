"""All layers at once: the network of `LinkPredictor` with the mean, or attention, over all other layers."""

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from banditplex.bandits.arms import to_layer
from banditplex.baselines.base import BASELINES, choice, parameters
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.embedding import embed
from banditplex.nn.query import Query
from banditplex.nn.view import View
from banditplex.rng import stream
from banditplex.training.config import Config
from banditplex.training.setup import build_network, normalise

KINDS = ("mean", "attention")


class AggregationNetwork(PairNetwork):
    """The network of `Aggregation`."""

    sees = "all"
    features: Tensor | None

    def __init__(self, data: NetworkData, method: "Aggregation") -> None:
        super().__init__(data, method)
        num_layers, width = data.mx.num_layers, method.width
        self.exact, self.chunk = not width, max(1, (1 << 17) // num_layers)
        network = build_network(data.mx, np.arange(num_layers), Config(width=width), data.visibility)
        self.model = network.to(data.device)
        normalise(self.model, data.data, stream(data.seed, "normalise"))
        self.prior = nn.Parameter(torch.zeros(num_layers, num_layers)) if method.kind == "attention" else None
        self.of_features = nn.Parameter(torch.zeros(len(self.model.other.mean)))
        self.register_buffer("features", data.features() if width else None, persistent=False)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        model, others = self.model, graph.num_layers - 1
        layers = to_layer(target.unsqueeze(1), torch.arange(others, device=pairs.device).expand(len(pairs), -1))
        view = View(graph, model.visibility, features=self.features)
        query = Query(pairs, target, layers, hidden=hidden)
        own, other, _ = model.describe(view, query)
        embedded = None
        if model.encoder is not None:
            embedded = embed(model.encoder, view, query, (own, other))
        logit, terms = model.terms((own, other, None), target, others, embedded)
        if not others:
            return logit
        terms = terms.view(len(pairs), others)
        if self.prior is None:
            return logit + terms.mean(1)
        values = (other.values - model.other.mean) / model.other.scale
        scores = (values @ self.of_features).view(len(pairs), others) + self.prior[target].gather(1, layers)
        return logit + (torch.softmax(scores, 1) * terms).sum(1)


@parameters
class Aggregation(NeuralBaseline):
    """The terms of `LinkPredictor` for the target layer and all other layers, without a policy.

    logit = own + sum over other layers l of a_l other_l, where own and other_l are the two heads of `MultiplexModel`,
    which see structural features of the pair in the layer and, if `width` > 0, embeddings of its nodes. "mean": a_l is
    1 / (num_layers - 1). "attention": a_l is the softmax over layers of b_tl + <w, features of the pair in l>. This is
    what the paper compares sampling with: every layer is looked at in every step. Directions of edges count.
    """

    network = AggregationNetwork
    weight_decay = 0.1
    ordered = True

    kind: str = choice(*KINDS, kw_only=False)
    width: int = 0  # of node embeddings; 0: structural features only


for _kind in KINDS:
    BASELINES.add(_kind, partial(Aggregation, kind=_kind))
