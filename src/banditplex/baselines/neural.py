"""What all networks share: mini-batches, early stopping, scores by folds, and what of a pair is hidden."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import threads_for
from banditplex.backend.packing import node_features
from banditplex.baselines.base import Baseline, parameters
from banditplex.errors import InputError
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.encoder import column_scales
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.visibility import Visibility
from banditplex.rng import stream
from banditplex.training.batches import Plan, plan_epoch
from banditplex.training.config import AUTO, Config
from banditplex.training.data import TrainingData, prepare
from banditplex.training.global_state import seeded

SCORING_GROUPS = 8  # known edges are scored in this many groups, each without the edges of the group
VALIDATION = 0.1  # share of each target's edges that early stopping looks at


class PairNetwork(nn.Module, ABC):
    """A network that scores pairs of nodes, given the data and the baseline that it belongs to.

    `sees` names the graph that it looks at, unless the baseline has the parameter `graph`: "target", the target layer;
    "union", the union of all layers, in which the edge of a pair is seen if a layer shows it that may be seen (see
    `Visibility`); "all", all layers. `exact` networks leave out the own edge of each pair themselves; for others, the
    edges of all pairs of a batch are hidden from the batch. `chunk` bounds the number of pairs scored at once, and
    those of `exact` networks in training.
    """

    sees: str = "target"
    exact: bool = False
    chunk: int = 1 << 14

    def __init__(self, data: "NetworkData", method: Any) -> None:
        super().__init__()
        self.sees, self.visibility = getattr(method, "graph", self.sees), data.visibility

    @abstractmethod
    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs (P, 2) in target layers (P,); `hidden` edges must not be seen."""

    def loss(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return what training minimises, given logits (P,) that were just computed and labels (P,)."""
        return F.binary_cross_entropy_with_logits(logits, label)

    def layer(self, graph: PackedGraph, target: Tensor) -> Tensor:
        """Return the layer of the graph that is looked at for each target: itself, or the union."""
        return torch.full_like(target, graph.num_layers - 1) if self.sees == "union" else target


@parameters
class NeuralBaseline(Baseline, ABC):
    """A network that is trained on edges and as many negatives, with AdamW and early stopping.

    The target layers share all weights but those of nodes, so fit(mx, targets=[one]) is the method of the paper on one
    graph. A tenth of each target's edges is left out of the training graph, and the weights of the epoch with the
    least loss on these edges are used; scores see all edges. Negatives avoid the edges of the training graph only.

    No pair sees its own edge: in training, the edges of a batch are hidden from the network; later, known edges are
    scored in groups that depend on the pair alone, without the edges of their group. So the score of a pair does not
    depend on others that are scored with it. Weights and directions of edges are ignored, unless a class says
    otherwise. Targets without edges or without negatives score 0.

    Every network has the parameters `epochs`, at most; `patience`, epochs without a better validation loss before
    training stops; `batch_size`, pairs per target and step, half of them edges; `learning_rate`; `device`; and `hide`
    and `seed`, see `Baseline`.
    """

    network: ClassVar[type[PairNetwork]]
    sees_own_edge: ClassVar[bool] = False
    targets_per_step: ClassVar[int | str] = AUTO
    weight_decay: ClassVar[float] = 0.0
    ordered: ClassVar[bool] = False  # whether (u, v) and (v, u) may have different scores in a directed multiplex
    epochs: int = 100
    patience: int = 20
    batch_size: int = 64
    learning_rate: float = 0.01
    device: str = "auto"

    def _step_targets(self) -> int | str:
        """Return how many targets share a step, as `plan_epoch` takes it."""
        return self.targets_per_step

    def _fit(self) -> None:
        for name in ("epochs", "patience", "batch_size"):
            value, least = getattr(self, name), 1 + (name == "batch_size")
            if not isinstance(value, int | np.integer) or value < least:
                raise InputError(f"Expected {name} to be an integer of at least {least}, got {value!r}.")
        self.network_: PairNetwork | None = None
        mx, visibility = self.mx_, self.visibility_
        edges = np.bincount(mx.edge_layer[mx.edge_index[0] != mx.edge_index[1]], minlength=mx.num_layers)
        usable = (edges > 0) & (visibility.negative_pairs(mx).num_free() > 0)
        targets = np.array([target for target in self.targets_ if usable[target]], np.int64)
        self.learnt_ = targets.tolist()
        if not len(targets):
            return
        config = Config(hide=self.hide, evidence="drawn", validation=VALIDATION, device=self.device, seed=self.seed)
        data = NetworkData(prepare(mx, targets, config.checked()), self.seed, self.epochs)
        with threads_for(mx.num_edges), seeded(self.seed, type(self).__name__, data.device):
            network = self.network(data, self).to(data.device)
            self.network_, self.graph_ = network, data.graph(network.sees, full=True)
            self.known_ = KnownPairs(mx, everywhere=visibility.hides_everywhere, ordered=False)
            self._train(network, data)
            network.double()  # rounding would depend on what is scored together

    def _train(self, network: PairNetwork, data: "NetworkData") -> None:
        optimizer = torch.optim.AdamW(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        rng, graph = stream(self.seed, "network batches"), data.graph(network.sees)
        best, best_loss, waited = None, np.inf, 0
        for epoch in range(self.epochs):
            network.train()
            losses = []
            for pairs, target, label in data.batches(self.batch_size, self._step_targets(), rng):
                optimizer.zero_grad()
                batch = slice(0, 0 if network.exact else len(pairs))
                hidden = hide_from(graph, pairs[batch], target[batch], data.visibility, network.sees)
                total = 0.0
                for at in torch.split(torch.arange(len(pairs)), network.chunk if network.exact else len(pairs)):
                    loss = network.loss(network(graph, pairs[at], target[at], hidden), label[at]) * len(at) / len(pairs)
                    loss.backward()  # type: ignore[no-untyped-call]
                    total += float(loss.detach())
                optimizer.step()
                losses.append(total)
            row = {"epoch": epoch, "train_loss": float(np.mean(losses)), "validation_loss": _validate(network, data)}
            if row["validation_loss"] < best_loss:
                best_loss, waited = row["validation_loss"], 0
                best = {name: value.detach().clone() for name, value in network.state_dict().items()}
            else:
                waited += 1
            stopped = self._on_epoch is not None and self._on_epoch(self, row) is True
            if stopped or (waited >= self.patience and best is not None):
                break
        if best is not None:
            network.load_state_dict(best)
        network.eval()

    @property
    def num_parameters_(self) -> int:
        """Number of trained weights."""
        return 0 if self.network_ is None else sum(weight.numel() for weight in self.network_.parameters())

    @torch.no_grad()
    def _score(self, pairs: Ints, target: int) -> Floats:
        if self.network_ is None or target not in self.learnt_:
            return np.zeros(len(pairs))
        network, graph, visibility = self.network_, self.graph_, self.visibility_
        network.eval()
        pairs = pairs if self.ordered and self.mx_.directed else np.sort(pairs, axis=1)
        fold, edges = np.full(len(pairs), -1), np.empty((0, 2), np.int64)
        if not network.exact:
            fold = np.where(self.known_.has(np.full(len(pairs), target), pairs), pairs.sum(1) % SCORING_GROUPS, -1)
            name = self.mx_.layer_names[target]
            edges = (self.mx_.edge_index if visibility.hides_everywhere else self.mx_.edges(name)).T
        result = np.empty(len(pairs))
        with threads_for(self.mx_.num_edges):
            for number in np.unique(fold).tolist():
                mine = np.sort(edges[edges.sum(1) % SCORING_GROUPS == number], axis=1)
                group = torch.from_numpy(np.unique(mine, axis=0))
                same = torch.full((len(group),), target, device=graph.device)
                hidden = hide_from(graph, group.to(graph.device), same, visibility, network.sees)
                here = np.flatnonzero(fold == number)
                for at in np.split(here, range(network.chunk, len(here), network.chunk)):
                    place = torch.from_numpy(pairs[at]).to(graph.device)
                    layer = torch.full((len(at),), target, device=graph.device)
                    result[at] = network(graph, place, layer, hidden).double().cpu().numpy()
        return result


class NetworkData:
    """What a network learns from: graphs on the device, edges and negatives."""

    def __init__(self, data: TrainingData, seed: int, epochs: int) -> None:
        self.data, self.seed, self.epochs = data, seed, epochs
        self.visibility, self.device, self.mx = data.visibility, data.device, data.full_mx
        self._edges = data.train_edges.to_host()
        self._graphs: dict[tuple[bool, bool], PackedGraph] = {}

    def graph(self, sees: str, *, full: bool = False) -> PackedGraph:
        """Return the graph without validation edges, or the full one; what is seen as "union" is its last layer."""
        mx = self.mx if full else self.data.train_mx
        key = mx is self.mx, sees == "union"
        if key not in self._graphs:
            self._graphs[key] = PackedGraph.from_multiplex(replace(mx, weight=None), self.device, union=key[1])
        return self._graphs[key]

    def features(self) -> Tensor | None:
        """Return node features (num_nodes, F), each of mean 0 and deviation 1, if there are any."""
        found = node_features(self.mx, self.device)
        if found is None:
            return None
        mean, factor = column_scales(found)
        return ((found - mean) * factor).float()

    def num_steps(self, batch_size: int, targets_per_step: int | str) -> int:
        """Return the number of steps of all epochs."""
        return self.epochs * (len(self._plan(batch_size, targets_per_step, stream(self.seed, "count")).start) - 1)

    def _plan(self, batch_size: int, targets_per_step: int | str, rng: np.random.Generator) -> Plan:
        size, half = self.data.train_edges.size, max(batch_size // 2, 1)
        return plan_epoch(size, batch_edges=half, rng=rng, targets_per_step=targets_per_step)

    def batches(
        self, batch_size: int, targets_per_step: int | str, rng: np.random.Generator
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield the steps of an epoch: pairs (P, 2), target layers (P,) and labels (P,), edges first."""
        edges, plan = self._edges, self._plan(batch_size, targets_per_step, rng)
        order = plan.edges(torch.device("cpu"))[0].numpy()
        for step, _ in plan.steps():
            here = order[step]
            layer = self.data.targets[edges.instance[here]]
            yield self._labelled(edges.pairs[here], self.data.negatives.draw(layer, rng), layer)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return pairs (2 * size, 2), half of them edges, and their target layers, at random."""
        edges = self._edges
        here = rng.integers(0, len(edges), size)
        layer = self.data.targets[edges.instance[here]]
        return self._labelled(edges.pairs[here], self.data.negatives.draw(layer, rng), layer)[:2]

    def validation(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return validation pairs, their target layers and labels."""
        held = self.data.validation_edges
        return self._labelled(held.pairs, self.data.validation_negatives, self.data.targets[held.instance])

    def _labelled(self, edges: Ints, negatives: Ints, layer: Ints) -> tuple[Tensor, Tensor, Tensor]:
        pairs = torch.from_numpy(np.concatenate([edges, negatives])).to(self.device)
        target = torch.from_numpy(np.concatenate([layer, layer])).to(self.device)
        label = (torch.arange(len(pairs), device=self.device) < len(edges)).float()
        return pairs, target, label


@torch.no_grad()
def _validate(network: PairNetwork, data: NetworkData) -> float:
    """Return the loss on validation pairs, whose edges are not in the training graph; NaN if there are none."""
    network.eval()
    pairs, target, label = data.validation()
    graph = data.graph(network.sees)
    nothing = HiddenEdges(pairs[:0], target[:0])
    logits = [
        network(graph, pairs[at], target[at], nothing)
        for at in torch.split(torch.arange(len(pairs), device=pairs.device), network.chunk)
        if len(at)
    ]
    return float(F.binary_cross_entropy_with_logits(torch.cat(logits), label)) if logits else float("nan")


def hide_from(graph: PackedGraph, pairs: Tensor, target: Tensor, visibility: Visibility, sees: str) -> HiddenEdges:
    """Return the edges of pairs (P, 2) that a network must not see; what it `sees` as "union" is the last layer."""
    if sees == "target":
        return HiddenEdges(pairs, target)
    if sees == "union":
        union = torch.full_like(target, graph.num_layers - 1)
        gone = ~visible_link(graph, pairs, target, union, visibility)
        return HiddenEdges(pairs[gone], union[gone])
    if not visibility.hides_everywhere:
        return HiddenEdges(pairs, target)
    layers = torch.arange(graph.num_layers, device=target.device).expand(len(pairs), -1)
    lists, size = graph.both, graph.num_nodes
    if layers.numel() <= len(lists.neighbour):
        return HiddenEdges.of(pairs, layers)
    row = lists.row_key[torch.repeat_interleave(lists.row_degree)]
    ends = torch.stack([row % size, lists.neighbour[:-1]], 1)
    known = torch.unique(pairs.min(1).values * size + pairs.max(1).values)
    found = (ends[:, 0] < ends[:, 1]) & torch.isin(ends[:, 0] * size + ends[:, 1], known)
    return HiddenEdges(ends[found], row[found] // size)


def visible_link(graph: PackedGraph, pairs: Tensor, target: Tensor, layer: Tensor, visibility: Visibility) -> Tensor:
    """Say for each pair (P, 2) whether it is linked in a layer (P,) by an edge that may be seen.

    Directions do not matter: in a directed target layer the reverse edge is hidden, too. The union, if the graph has
    one, shows an edge if a layer shows it.
    """
    lists = graph.both
    linked, arc = lists.find(lists.rows(layer, pairs[:, 0]), pairs[:, 1])
    if visibility.hides_everywhere:
        return torch.zeros_like(linked)
    if lists.copies is None:
        return linked & (layer != target)
    own = lists.find(lists.rows(target, pairs[:, 0]), pairs[:, 1])[0]
    elsewhere = lists.copies[arc] > own.int()
    return linked & torch.where(layer == graph.num_layers - 1, elsewhere, layer != target)
