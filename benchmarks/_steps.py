"""The steps of an epoch, one at a time: for measurements."""

from itertools import cycle

from banditplex.training.global_state import on_tensor_cores
from banditplex.training.history import EpochRecord
from banditplex.training.loop import Trainer
from banditplex.training.threads import has_short_steps, second_thread


class Steps:
    """Takes the steps of the first epoch of a trainer, over and over, without validation."""

    def __init__(self, trainer: Trainer) -> None:
        data, self._trainer = trainer.data, trainer
        plan = trainer._plan(trainer.rng["batches"])
        (order, self._row), self._steps = plan.edges(data.device), list(plan.steps())
        self._pairs, self._places = trainer.supply.epoch(0, order, trainer.rng["negatives"])
        self._record = EpochRecord(len(data.targets), data.device)
        self._next = cycle(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def num_pairs(self) -> int:
        """Pairs of the first step."""
        first = self._steps[0][0]
        return 2 * (int(first.stop) - int(first.start))

    def take(self, count: int = 1) -> None:
        """Take the next steps."""
        with on_tensor_cores(self._trainer), second_thread(wanted=has_short_steps(self._trainer)) as later:
            for _ in range(count):
                edges, instances = next(self._next)
                known = None if self._places is None else self._trainer.supply.known(self._places[:, edges].flatten())
                self._trainer._run_step(instances, self._row[edges], self._pairs[:, edges], known, self._record, later)
