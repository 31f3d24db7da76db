"""The training loop: draw layers, score the batch with them, update the policies and take a gradient step.

Layers that are neither target nor drawn cost a step nothing: what all layers say of its pairs is looked up once, if it
can be kept. A layer is worth drawing if its term lowers the link loss of a batch; by how much is what policies learn
from. What a training starts from is made in `setup`; `data` holds its graphs and edges, `feedback` turns a step into
what policies learn, `validation` decides when to stop.
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.arrays import Ints
from banditplex.bandits import Draw, Policy
from banditplex.bandits.arms import to_layer
from banditplex.nn import Logits, MultiplexModel
from banditplex.nn.known import Known
from banditplex.nn.neighbour_sampling import Fanout
from banditplex.nn.query import Query
from banditplex.nn.relevance import Diverged, Relevance
from banditplex.rng import stream
from banditplex.training.batches import Batch, Plan, StepSize, plan_epoch
from banditplex.training.config import Config
from banditplex.training.data import TrainingData
from banditplex.training.draws import DrawSchedule, most_probable_layers
from banditplex.training.feedback import LayerLosses, SideInformation, free_observations, layer_losses
from banditplex.training.global_state import on_tensor_cores
from banditplex.training.history import EpochRecord, Regret
from banditplex.training.learning import Learning
from banditplex.training.optimizer import FlatAdamW
from banditplex.training.supply import Supply
from banditplex.training.threads import Later, has_short_steps, second_thread
from banditplex.training.validation import EarlyStopping, Validation, validate

STREAMS = ("batches", "negatives", "draws", "neighbours")


class Trainer:
    """Trains a network and its policies, one epoch at a time.

    Parameters: `model`, whose exponential moving average `ema_model` is what validation and predictions use; `policy`,
    which draws layers, with one instance per target (None: there are no other layers); `warmup_policy`, which draws in
    the warm-up epochs (None: there are none).
    """

    def __init__(
        self, data: TrainingData, config: Config, relevance: Relevance, model: MultiplexModel, policy: Policy | None,
        warmup_policy: Policy | None,
    ) -> None:  # fmt: skip
        num_targets, k = len(data.targets), 0 if policy is None else policy.k
        self.data, self.config, self.relevance = data, config, relevance
        self.model = model.train()
        self.ema_model = copy.deepcopy(model).eval()  # no dropout in validation and prediction
        self.policy, self.warmup_policy = policy, warmup_policy
        self.rng = {name: stream(config.seed, name) for name in STREAMS}
        self.schedule = DrawSchedule(num_instances=num_targets, k=k, steps=config.steps_per_draw)
        self.steps_per_epoch = len(self._plan(stream(0, "count")).start) - 1
        self.epoch, self.epochs = 0, config.num_epochs(self.steps_per_epoch, data.num_examples)
        self.warmup_epochs = config.warmup_epochs(self.epochs) if warmup_policy is not None else 0
        steps = self.epochs * self.steps_per_epoch
        self.optimizer = FlatAdamW(self.model, self.ema_model, config, steps, len(data.train_edges), data.group)
        self.learning = Learning(self.model, self.optimizer)
        self.early_stopping = EarlyStopping(config.patience)
        self.supply = Supply(data, config, self.epochs, 0 if model.encoder is not None else k)
        self.regret = Regret(num_targets, 0 if policy is None else policy.num_arms, k)
        self.history: list[dict[str, Any]] = []

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or training has stopped early."""
        return self.epoch >= self.epochs or self.early_stopping.should_stop(self.epoch)

    @property
    def in_warmup(self) -> bool:
        """Whether layers are still drawn uniformly, because layer losses are noise so far."""
        return self.epoch < self.warmup_epochs

    # An epoch

    def run_epoch(self) -> list[dict[str, Any]]:
        """Go through all training edges once; return one row of the history per target."""
        data = self.data
        if self.epoch == self.warmup_epochs:
            self.schedule.reset()
        plan = self._plan(self.rng["batches"])
        (order, row), steps = plan.edges(data.device), list(plan.steps())
        pairs, places = self.supply.epoch(self.epoch, order, self.rng["negatives"])  # (2, E, 2), (2, E)
        record = EpochRecord(len(data.targets), data.device, data.group)
        with on_tensor_cores(self), second_thread(wanted=has_short_steps(self)) as later:
            looked_up = later.ahead(self.supply.look_ups(places, steps))
            for (edges, instances), known in zip(steps, looked_up, strict=True):
                try:
                    self._run_step(instances, row[edges], pairs[:, edges], known, record, later)
                except Diverged:
                    raise self._diverged(instances) from None
        if (bad := self.optimizer.first_bad_step()) is not None:  # later steps have learnt nothing
            raise self._diverged(steps[bad][1])
        self.epoch += 1
        found = self.validate()
        if len(found.label):
            self.early_stopping.update(self.epoch, found.calibrated_loss(), self.ema_model, self.policy)
        by_target = found.by_target(len(data.targets))
        self.history += (rows := record.rows(self.epoch, data.targets, data.layer_names, self.regret, by_target))
        return rows

    def _diverged(self, instance: Ints) -> Diverged:
        """Return an error about the epoch and the target layers of a step."""
        return Diverged.during(self.epoch + 1, [self.data.layer_names[each] for each in self.data.targets[instance]])

    def _plan(self, rng: np.random.Generator) -> Plan:
        config, data = self.config, self.data
        return plan_epoch(
            data.train_edges.size, batch_edges=config.batch_edges(data.num_examples), rng=rng,
            max_rounds=config.max_rounds(data.num_examples), targets_per_step=config.targets_per_step,
            step_size=StepSize.on(data.device, self.model.width),
        )  # fmt: skip

    # A step

    def _run_step(
        self, instances: Ints, row: Tensor, pairs: Tensor, known: Known | None, record: EpochRecord, later: Later
    ) -> None:
        """Learn from edges and negatives `pairs` (2, E, 2) of targets instances[row] (E,), sorted."""
        draw, table = self._draw_layers(instances)
        batch = (step := Batch.of(row, pairs, instances, table)).part(self.data.mine)
        logits = self._score(batch, known, later)
        loss = F.binary_cross_entropy_with_logits(logits.total, batch.label, reduction="none")
        later.start(self.learning.learn, batch, logits, loss)  # policies and next pairs do not see it
        if self.policy is not None and draw is not None and self.policy.k:
            losses = layer_losses(self.relevance, batch, logits, self.data.group)
            self._update_policy(self.policy, draw, step, losses, record)
        record.add(torch.from_numpy(batch.instances).to(self.data.device)[batch.row], loss, logits.total, batch.label)

    def _draw_layers(self, instances: Ints) -> tuple[Draw | None, Ints]:
        """Draw for the targets that need it; return that draw, and target and drawn layers (B, 1 + k) of all."""
        target = self.data.targets[instances][:, None]
        policy = self.warmup_policy if self.in_warmup else self.policy
        if policy is None:
            return None, target
        draw = policy.draw(self.rng["draws"], self.schedule.needs_draw(instances))
        arms = self.schedule.assign(draw, instances)
        return draw, np.concatenate([target, to_layer(target, arms)], 1)

    def _score(self, batch: Batch, known: Known | None, later: Later) -> Logits:
        """Wait for the gradient step before, then score the pairs of a batch; the encoder does not see their edges."""
        view, query = self.data.train_view, Query(batch.pairs, batch.layers[:, 0], batch.layers[:, 1:], known)
        if not len(batch.row):  # all targets of the step are those of other processes
            return Logits(batch.label, batch.layers[:, 1:].float())
        described = self.model.describe(view, query)
        later.wait()
        if self.model.encoder is None:
            return self.learning.score(query, described)
        hidden = batch.hidden_edges(view.visibility, self.relevance)
        wanted = batch.every_embedding() if self.relevance.is_free else None
        fanout = Fanout.of(self.config.fanouts, view.device, self.rng["neighbours"])
        return self.model.score(view, replace(query, hidden=hidden, wanted=wanted, fanout=fanout), described)

    def _update_policy(self, policy: Policy, draw: Draw, batch: Batch, losses: LayerLosses, log: EpochRecord) -> None:
        """Update the policies whose draws end with this step."""
        draw, mean, ended = self.schedule.complete(draw, batch.instances, losses.of(batch.drawn))
        if not ended.any():
            return
        log.add_draws(draw, batch.drawn[ended], mean)
        side = SideInformation()
        if self.relevance.is_free:
            target, values, symmetric = batch.target[ended], losses.values[ended], self.relevance.symmetric
            side = free_observations(draw, target, losses.layers[0], values, self.data.instance_of, symmetric=symmetric)
        self.regret.add(draw, mean, side.probability, side.extra)
        if not self.in_warmup:
            policy.update(draw, mean, probability=side.probability, extra=side.extra)

    # After the epochs

    def most_probable_layers(self, count: int | None = None) -> Ints:
        """Return the layers (T, count) that each target is most likely to draw; None: as many as it draws."""
        return most_probable_layers(self.policy, self.data.targets, self.config.seed, count)

    def validate(self) -> Validation:
        """Score the validation pairs with the averaged weights."""
        return validate(self.ema_model, self.data, self.most_probable_layers())

    def finish(self) -> None:
        """Restore weights and policies of the epoch that early stopping has kept."""
        self.early_stopping.restore(self.ema_model, self.policy)
