"""The loop: draw layers, score the batch with them, tell the policies, take a gradient step.

Layers that are neither target nor drawn are not looked at. Everything that a later epoch depends on is in
`state_dict`: weights, their running mean, optimiser, policies, random streams and history.
"""

import copy
import math
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from banditplex.bandits import Draw, Observations, Policy, make_policy
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.nn import MultiplexModel, PackedGraph, describe
from banditplex.nn.relevance import Seen, compares_embeddings, get_relevance, is_symmetric, layer_losses, predictive
from banditplex.nn.sampling import Fanout
from banditplex.nn.scoring import between, score
from banditplex.pairs.known import pair_keys
from banditplex.pairs.negatives import GivenNegatives, NegativeSampler
from banditplex.rng import stream
from banditplex.training.batches import Examples, divide, divide_given, divide_pairs, edges_of, plan_epoch
from banditplex.training.calibration import calibrated_loss
from banditplex.training.config import Config
from banditplex.training.draws import KeptDraws, free_observations, mirrored, most_probable, to_layer
from banditplex.training.history import EpochRecord, Regret
from banditplex.training.optimizer import Descent
from banditplex.training.union import has_union, without_edges

Ints = NDArray[np.int64]
STREAMS = ("batches", "negatives", "draws", "neighbours")
NOT_LEARNING = ("uniform", "fixed", "all", "none")
"""Policies that need no warming up."""


def choose_device(device: str) -> torch.device:
    """Return the device of a name; "auto" is CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"Expected device to be 'auto', 'cpu' or a device of this machine, got {device!r}.") from error


class Trainer:
    """Trains a network on a multiplex, one epoch at a time.

    Validation edges are as unknown to it as test edges will be: not seen, and negatives like any other pair that is
    not seen. Hidden only where they are asked for, they would show in the neighbourhoods of other pairs, and as what
    is never a negative.

    Parameters: `mx`, with its union as the last layer if that can be drawn; `targets` (T,), indices of the layers in
    which links are predicted; `negatives`, pairs per layer index to use instead of drawn ones.
    """

    def __init__(
        self, mx: Multiplex, targets: Ints, config: Config, *, negatives: dict[int, Ints] | None = None
    ) -> None:
        self.mx, self.config, self.targets = mx, config, targets
        self.device = choose_device(config.device)
        self.relevance = get_relevance(config.relevance)
        self.layer_names = mx.layer_names
        self.features = as_features(mx, self.device)
        self.rng = {name: stream(config.seed, name) for name in STREAMS}
        self.union = config.union and has_union(mx)
        self.train, self.held, gone = self._hold_out()
        self.seen = without_edges(mx, gone, union=self.union)
        self.graph = self._pack(self.seen)
        self.sampler, self.held_negatives = self._make_negatives(negatives)
        self.policy = self._make_policy(mx.num_layers)
        self.beginner = self._make_beginner()
        self.kept = KeptDraws(
            num_instances=len(targets), k=0 if self.policy is None else self.policy.k, steps=config.steps_per_draw
        )
        self.instance_of = np.full(mx.num_layers, -1, np.int64)
        self.instance_of[targets] = np.arange(len(targets))
        self.free = config.width > 0 and compares_embeddings(self.relevance)
        if compares_embeddings(self.relevance) and not config.width:
            raise InputError(f"Expected width of at least 1 for relevance {config.relevance!r}, got 0.")
        self.model = self._make_model(mx)
        self.mean = copy.deepcopy(self.model)
        self.epoch, self.warmup = 0, config.even_epochs
        self.steps_per_epoch = len(self._plan(stream(0, "count")).start) - 1
        self.descent = Descent(self.model, self.mean, config, config.epochs * self.steps_per_epoch)
        self.best: dict[str, Any] = {"loss": None, "epoch": 0, "chosen": 0, "weights": None}
        self.regret = Regret(len(targets), mx.num_layers - 1)
        self.history: list[dict[str, Any]] = []

    @cached_property
    def whole(self) -> PackedGraph:
        """The graph with the validation edges, which predictions look at."""
        return self.graph if self.seen is self.mx else self._pack(self.mx)

    # The loop

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the validation loss has not fallen for `patience` epochs."""
        waited = len(self.held.instance) > 0 and self.epoch - self.best["epoch"] >= self.config.patience
        return self.epoch >= self.config.epochs or waited

    def run_epoch(self) -> list[dict[str, Any]]:
        """Go through all edges of the targets once; return one row per target."""
        if self.epoch == self.warmup:
            self.kept.drop()
        plan = self._plan(self.rng["batches"])
        instance, edges = self.train.instance[plan.order], self.train.pairs[plan.order]
        others = self.sampler.draw(self.targets[instance], self.rng["negatives"])
        pairs = torch.from_numpy(np.stack([edges, others])).to(self.device)  # (2, E, 2): edges, negatives
        record = EpochRecord(len(self.targets), self.device)
        for low, high in zip(plan.start[:-1].tolist(), plan.start[1:].tolist(), strict=True):
            self._run_step(instance[low:high], pairs[:, low:high], record)
        self.epoch += 1
        rows = record.rows(self.epoch, self.targets, self.layer_names, self.regret, self._validate())
        self.history += rows
        return rows

    def _run_step(self, instance: Ints, pairs: Tensor, record: EpochRecord) -> None:
        new = np.diff(instance, prepend=-1) > 0  # a plan has the edges of a step sorted by target
        instances, which = instance[new], np.cumsum(new) - 1
        target = self.targets[instances]
        draw, drawn = self._draw(instances, target)
        batch = self._batch(which, pairs, target, drawn)
        logits = self.model(
            self.graph, self.features, batch["pairs"], batch["target"], batch["layers"],
            self._hidden(batch), self._asked(batch), self._fanout(),
        )  # fmt: skip
        total = logits.total
        loss = F.binary_cross_entropy_with_logits(total, batch["label"], reduction="none")
        self.descent.descend(loss.mean())
        record.add(torch.from_numpy(instances).to(self.device)[batch["which"]], loss, total, batch["label"])
        self._learn(draw, target, drawn, batch, logits, record)

    def _draw(self, instances: Ints, target: Ints) -> tuple[Draw | None, Ints]:
        """Draw for the targets whose last draw is used up; return that draw, and the layers (B, k) of all targets."""
        if self.policy is None:
            return None, np.empty((len(instances), 0), np.int64)
        policy = self.beginner if self.warming else self.policy
        draw = policy.draw(self.rng["draws"], self.kept.due(instances))
        return draw, to_layer(target[:, None], self.kept.take(draw, instances))

    @property
    def warming(self) -> bool:
        """Whether layers are still drawn evenly, because layer losses do not mean anything yet."""
        return self.epoch < self.warmup and self.config.policy not in NOT_LEARNING

    def _batch(self, which: Ints, pairs: Tensor, target: Ints, drawn: Ints) -> dict[str, Tensor]:
        """Lay out edges and negatives of all targets of the step in one flat list of P pairs."""
        place = torch.from_numpy(which).to(self.device).repeat(2)
        table = torch.from_numpy(np.concatenate([target[:, None], drawn], 1)).to(self.device)
        label = torch.zeros(len(place), device=self.device)
        label[: len(which)] = 1
        chosen = table[place]
        return {
            "which": place, "pairs": pairs.reshape(-1, 2), "label": label, "target": chosen[:, 0],
            "layers": chosen[:, 1:], "table": table,
        }  # fmt: skip

    def _hidden(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return what the encoder must not see: the pairs of the step in target and drawn layers.

        Where embeddings are compared across all encoded layers, the pairs are hidden in all of these.
        """
        if self.free:
            layers = torch.unique(batch["table"])
            return batch["pairs"].repeat_interleave(len(layers), 0), layers.repeat(len(batch["pairs"]))
        return between(batch["pairs"], batch["target"], batch["layers"], hide="pair")

    def _asked(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor] | None:
        """Return the (layer, node) whose embeddings free observations compare."""
        if not self.free:
            return None
        layers, nodes = torch.unique(batch["table"]), torch.unique(batch["pairs"])
        return layers.repeat_interleave(len(nodes)), nodes.repeat(len(layers))

    def _fanout(self) -> Fanout | None:
        """Return how many neighbours the encoder sees in this step, and the random numbers that choose them."""
        if self.config.fanout is None:
            return None
        generator = torch.Generator(self.device)
        return Fanout(self.config.fanout, generator.manual_seed(int(self.rng["neighbours"].integers(2**62))))

    def _learn(
        self, draw: Draw | None, target: Ints, drawn: Ints, batch: dict[str, Tensor], logits: Any, record: EpochRecord
    ) -> None:
        """Tell the policies whose draws end here what was seen; the logits are from before the gradient step."""
        if self.policy is None or draw is None or not drawn.size:
            return
        if self.free:
            layers = np.unique(np.concatenate([target[:, None], drawn], 1))
            first = np.repeat(np.arange(len(target)), len(layers))
            second = np.tile(layers, len(target))
        else:
            first, second = np.repeat(np.arange(len(target)), drawn.shape[1]), drawn.reshape(-1)
        losses = layer_losses(self.relevance, self._seen(first, second, batch, logits)).numpy()
        table = losses.reshape(len(target), -1)
        own = np.take_along_axis(table, np.searchsorted(layers, drawn), 1) if self.free else table
        draw, own, ended = self.kept.close(draw, self.instance_of[target], own)
        if not ended.any():
            return
        target, drawn, table = target[ended], drawn[ended], table[ended]
        probability: NDArray[np.float64] | None = None
        extra: Observations | None = None
        if self.free:
            table[layers[None] == target[:, None]] = np.nan
            probability, extra = free_observations(
                draw, target, layers, table, self.instance_of, symmetric=is_symmetric(self.relevance)
            )
        elif self.relevance is predictive and len(self.targets) > 1:
            extra = mirrored(draw, target, drawn, own, self.instance_of)
        record.add_draws(draw, drawn, own)
        if not self.warming:
            self.policy.update(draw, own, probability=probability, extra=extra)
            self.regret.add(draw, own, extra)

    def _seen(self, first: Ints, second: Ints, batch: dict[str, Tensor], logits: Any) -> Seen:
        """Gather what a relevance needs about comparisons of targets `first` (places in the step) with layers."""
        k = batch["layers"].shape[1]
        which, label = batch["which"], batch["label"]
        if self.free:
            group = which.new_zeros(0)
            own = other = labels = label.new_zeros(0)
        else:
            group = (which.unsqueeze(1) * k + torch.arange(k, device=self.device)).reshape(-1)
            own, labels = logits.own.repeat_interleave(k), label.repeat_interleave(k)
            other = logits.other.reshape(-1)
        nodes, a, b = which.new_zeros(0), label.new_zeros(0, 0), label.new_zeros(0, 0)
        if self.relevance is not predictive and logits.block is not None:
            nodes, a, b = self._compare(first, second, batch, logits)
        return Seen(len(first), group, labels, own.detach(), other.detach(), nodes, a, b)

    def _compare(
        self, first: Ints, second: Ints, batch: dict[str, Tensor], logits: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the embeddings, in both layers, of the nodes of each comparison's batch, each node once."""
        num_nodes = self.graph.num_nodes
        place = torch.unique((batch["which"].unsqueeze(1) * num_nodes + batch["pairs"]).reshape(-1))
        which, node = place // num_nodes, place % num_nodes
        per = len(first) // len(batch["table"])
        group = (which.unsqueeze(1) * per + torch.arange(per, device=self.device)).reshape(-1)
        node = node.repeat_interleave(per)
        layer = torch.from_numpy(second).to(self.device)[group]
        target = batch["table"][:, 0][which].repeat_interleave(per)
        block, embedding = logits.block, logits.embedding.detach()
        return group, embedding[block.vertex(target, node)], embedding[block.vertex(layer, node)]

    # Validation and prediction

    def chosen_layers(self) -> Ints:
        """Return the layers (T, k) that predictions in each target use: the most probable ones."""
        if self.policy is None:
            return np.empty((len(self.targets), 0), np.int64)
        return most_probable(self.policy, self.targets, self.config.seed)

    def validation_logits(self) -> tuple[Ints, Tensor, Tensor]:
        """Return instance (n,), label (n,) and logit (n,) of the validation pairs; none of their edges is visible."""
        instance = np.tile(self.held.instance, 2)
        pairs = torch.from_numpy(np.concatenate([self.held.pairs, self.held_negatives])).to(self.device)
        target = torch.from_numpy(self.targets[instance]).to(self.device)
        layers = torch.from_numpy(self.chosen_layers()[instance]).to(self.device)
        count = len(self.held.instance)
        hidden = between(pairs, target, layers, hide=self.config.hide)  # reverse arcs, and given negatives' other edges
        label = torch.zeros(len(instance), device=self.device)
        label[:count] = 1
        return instance, label, score(self.mean, self.graph, self.features, pairs, target, layers, hidden)

    def _validate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return validation loss and accuracy of each target, NaN without validation edges; keep the best weights."""
        nothing = np.full(len(self.targets), np.nan)
        if not len(self.held.instance):
            return nothing, nothing
        instance, label, logit = self.validation_logits()
        loss = F.binary_cross_entropy_with_logits(logit, label, reduction="none").cpu().numpy().astype(np.float64)
        right = ((logit > 0) == (label > 0)).cpu().numpy()
        self._keep(calibrated_loss(logit, label))
        with np.errstate(invalid="ignore"):
            count = np.bincount(instance, minlength=len(self.targets))
            means = [np.bincount(instance, values, len(self.targets)) / count for values in (loss, right)]
        return means[0], means[1]

    def _keep(self, loss: Tensor) -> None:
        """Keep the weights of this epoch unless its validation loss (n,) is clearly above the lowest so far.

        Clearly is by more than one standard error of the difference, pair by pair: on few validation pairs the
        lowest loss is luck, and what was trained longer is better.
        """
        best = self.best
        if best["loss"] is None or loss.mean() < best["loss"].mean():
            best["loss"], best["epoch"] = loss, self.epoch
        above = loss - best["loss"]
        if above.mean() <= above.std() / math.sqrt(len(above)):
            best["chosen"] = self.epoch
            best["weights"] = {name: value.clone() for name, value in self.mean.state_dict().items()}

    def finish(self) -> None:
        """Take the kept weights for predictions: those of the last epoch that was as good as the best in validation."""
        if self.best["weights"] is not None:
            self.mean.load_state_dict(self.best["weights"])

    # State

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next epoch depends on: a snapshot, which later epochs do not change."""
        state = {
            "epoch": self.epoch, "warmup": self.warmup,
            "model": self.model.state_dict(), "mean": self.mean.state_dict(), "descent": self.descent.state_dict(),
            "policy": None if self.policy is None else self.policy.state_dict(), "kept": self.kept.state_dict(),
            "rng": {name: rng.bit_generator.state for name, rng in self.rng.items()},
            "best": self.best, "regret": self.regret.state_dict(), "history": self.history,
        }  # fmt: skip
        return copy.deepcopy(state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where `state_dict` was taken."""
        state = copy.deepcopy(state)
        self.epoch, self.warmup = state["epoch"], state["warmup"]
        self.model.load_state_dict(state["model"])
        self.mean.load_state_dict(state["mean"])
        self.descent.load_state_dict(state["descent"])
        if self.policy is not None:
            self.policy.load_state_dict(state["policy"])
        self.kept.load_state_dict(state["kept"])
        for name, rng in self.rng.items():
            rng.bit_generator.state = state["rng"][name]
        self.best, self.history = state["best"], state["history"]
        self.regret.load_state_dict(state["regret"])

    # Construction

    def _make_negatives(self, given: dict[int, Ints] | None) -> tuple[NegativeSampler | GivenNegatives, Ints]:
        """Return what draws training negatives, and one negative (n, 2) for each validation edge."""
        layer, rng = self.targets[self.held.instance], stream(self.config.seed, "validation negatives")
        if given is not None:
            parts = divide_given(given, self.config.validation, rng) if len(layer) else (given, given)
            train, held = (GivenNegatives(part, self.mx.num_layers) for part in parts)
            return train, held.draw(layer, rng)
        hide = self.config.hide
        sampler = partial(NegativeSampler, everywhere=hide == "pair", ordered=None if hide == "edge" else False)
        seen = sampler(self.seen)
        return seen, (seen if self.seen is self.mx else sampler(self.mx)).draw(layer, rng)

    def _hold_out(self) -> tuple[Examples, Examples, Ints]:
        """Return training edges and validation edges of the targets, and the places of all edges that are not seen."""
        mx, config = self.mx, self.config
        edges, rng = edges_of(mx, self.targets), stream(config.seed, "validation")
        if config.hide == "edge" or (config.hide == "layer" and not mx.directed):
            train, held = divide(edges, config.validation, rng)
            return train, held, held.place
        train, held = divide_pairs(edges, config.validation, rng, everywhere=config.hide == "pair")
        if config.hide == "layer":
            return train, held, held.place
        ends = pair_keys(np.zeros(mx.num_edges, np.int64), mx.edge_index.T, mx.num_nodes, ordered=False)
        return train, held, np.flatnonzero(np.isin(ends, ends[held.place]))

    def _pack(self, mx: Multiplex) -> PackedGraph:
        return PackedGraph.from_multiplex(mx, self.device, union=self.union)

    def _plan(self, rng: np.random.Generator) -> Any:
        return plan_epoch(
            self.train.instance,
            batch_edges=self.config.batch_size // 2,
            targets_per_step=self.config.targets_per_step,
            max_rounds=self.config.max_rounds,
            rng=rng,
        )

    def _make_policy(self, num_layers: int) -> Policy | None:
        """Return one policy with an instance per target; None if there is nothing to draw."""
        if num_layers == 1:
            return None
        config = self.config
        sizes = {"num_arms": num_layers - 1, "k": config.k, "num_instances": len(self.targets)}
        try:
            return make_policy(config.policy, **sizes, **config.policy_options)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error

    def _make_beginner(self) -> Policy:
        """Return the policy of the first epochs: even draws, of as many layers."""
        num_arms, k = (1, 1) if self.policy is None else (self.policy.num_arms, max(1, self.policy.k))
        return make_policy("uniform", num_arms=num_arms, k=k, num_instances=len(self.targets))

    def _make_model(self, mx: Multiplex) -> MultiplexModel:
        config = self.config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(config.seed, "weights").integers(2**62)))
            model = make_model(mx, config).to(self.device)
        self._normalise(model, mx.num_layers)
        return model

    def _normalise(self, model: MultiplexModel, num_layers: int, size: int = 4096) -> None:
        """Take mean and scale of the structural features from a sample of pairs and layers."""
        rng = stream(self.config.seed, "normalise")
        at = rng.integers(0, len(self.train.instance), size)
        target = self.targets[self.train.instance[at]]
        pairs = torch.from_numpy(np.concatenate([self.train.pairs[at], self.sampler.draw(target, rng)])).to(self.device)
        target = np.tile(target, 2)
        chosen = to_layer(target, rng.integers(0, num_layers - 1, len(target)))[:, None] if num_layers > 1 else None
        layers = torch.empty((len(target), 0), dtype=torch.int64) if chosen is None else torch.from_numpy(chosen)
        own, other = describe(
            self.graph, pairs, torch.from_numpy(target).to(self.device), layers.to(self.device),
            hide=self.config.hide,
        )  # fmt: skip
        model.own.normalise(own.values)
        if chosen is not None:
            model.other.normalise(other.values)


def make_model(mx: Multiplex, config: Config) -> MultiplexModel:
    """Return the network for a multiplex, not yet trained."""
    return MultiplexModel(
        num_nodes=mx.num_nodes, num_layers=mx.num_layers, directed=mx.directed,
        num_node_features=0 if mx.node_features is None else mx.node_features.shape[1],
        width=config.width, depth=config.depth, conv=config.conv, hidden=config.hidden, rank=config.rank,
        learnt_nodes=config.learnt_nodes, hide=config.hide,
    )  # fmt: skip


def as_features(mx: Multiplex, device: torch.device) -> Tensor | None:
    """Return node features as a float tensor on a device."""
    if mx.node_features is None:
        return None
    return torch.from_numpy(np.array(mx.node_features, dtype=np.float32)).to(device)
