"""The networks of an ensemble, trained one after the other, each with validation edges of its own.

Every network misses the edges that it is validated on. The mean of several misses hardly any, and the luck of single
divisions, negatives and first weights averages out. The policies go on learning from one network to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from banditplex.nn.ensemble import joined
from banditplex.prediction import Calibration, FittedModel
from banditplex.rng import stream
from banditplex.training.loop import Trainer
from banditplex.training.regression import Used
from banditplex.training.validation import MAX_USED, choose_counts


def member_seed(seed: int, member: int) -> int:
    """Return the seed of a member; the first has that of the model."""
    return seed if member == 0 else int(stream(seed, "member", member).integers(2**62))


class Members:
    """Runs the trainers of `count` members in turn; `make` returns that of a member, given its number from 0 up."""

    def __init__(self, make: Callable[[int], Trainer], count: int) -> None:
        self._make, self.count = make, count
        self.trainers, self._place = [make(0)], 0

    @property
    def current(self) -> Trainer:
        """The trainer that runs: of the last member begun, or of an earlier one that is trained longer."""
        return self.trainers[self._place]

    @property
    def finished(self) -> bool:
        """Whether all members are trained."""
        return len(self.trainers) == self.count and all(trainer.finished for trainer in self.trainers)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The rows of all epochs so far."""
        return [row for trainer in self.trainers for row in trainer.history]

    def run_epoch(self) -> list[dict[str, Any]]:
        """Run the next epoch; return its rows, whose epochs count on from member to member."""
        if self.current.finished:
            self.current.finish()
            self.go_on()
        if self.current.finished:
            self.begin_next()
        rows = self.current.run_epoch()
        before = sum(trainer.epoch for trainer in self.trainers[: self._place])
        for row in rows:
            row |= {"epoch": before + row["epoch"], "member": self._place + 1}
        for row in (row for trainer in self.trainers[self._place + 1 :] for row in trainer.history):
            row["epoch"] += 1  # if an earlier member is trained longer
        return rows

    def go_on(self) -> None:
        """Let the first member run that has not finished: members that had, may have got more epochs."""
        unfinished = [place for place, trainer in enumerate(self.trainers) if not trainer.finished]
        self._place = unfinished[0] if unfinished else len(self.trainers) - 1

    def begin_next(self) -> None:
        """Make the trainer of the next member, with the policies of the last one."""
        trainer = self._make(len(self.trainers))
        trainer.policy = self.current.policy
        self.trainers.append(trainer)
        self._place = len(self.trainers) - 1

    def finish(self) -> None:
        """Restore the weights that members have kept, and the policies of the one that ran last."""
        for trainer in (*self.trainers, self.current):
            trainer.finish()


def choose_layers(trainers: Sequence[Trainer]) -> Used:
    """Return the layers that predictions in each target use, the most probable first.

    With k = "auto" their number is chosen, from 0 up, on the validation pairs of each member, scored by that member
    alone. Where a target has a panel, only layers of the panel may have a term of their own.
    """
    last = trainers[-1]
    if last.policy is None or not last.config.chooses_k or not last.policy.takes_k:
        return Used.all_of(last.most_probable_layers())
    layers, most = last.data.panels.first(last.most_probable_layers(last.policy.num_arms), MAX_USED)
    counts = choose_counts([(trainer.ema_model, trainer.data) for trainer in trainers], layers)
    return Used(layers, np.minimum(counts, most))


def mean_of_networks(trainers: Sequence[Trainer], used: Used) -> FittedModel:
    """Return the mean of networks, which look at the layers `used`; scores count as they are."""
    data, policy, seed = trainers[0].data, trainers[-1].policy, trainers[0].config.seed
    model, as_they_are = joined([each.ema_model for each in trainers]), Calibration.scaled(len(data.targets))
    return FittedModel(data.full_mx, model, data, policy, data.targets, data.panels, *used, as_they_are, seed)


def while_training(trainers: Sequence[Trainer]) -> FittedModel:
    """Return the mean of the networks so far, at the temperature that suits the last one's validation pairs."""
    last = trainers[-1]
    mean = mean_of_networks(trainers, Used.all_of(last.most_probable_layers()))
    slope = 1 / last.validate().temperature()
    return replace(mean, calibration=Calibration.scaled(len(mean.targets), slope))
