"""What is trained for which part: one training is one task."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from banditplex.experiments.open_problems import settings


@dataclass(frozen=True)
class Task:
    """One training.

    `part` is k, steps, cost or losses; `label` the policy or layer loss that is compared; `value` k, the steps per draw
    or the strength of prices.
    """

    part: str
    data: str
    label: str
    value: float
    seed: int
    epochs: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.part} {self.data} {self.label} {self.value:g} seed {self.seed}"


def all_tasks(parts: Sequence[str] = settings.PARTS, *, quick: bool = False) -> list[Task]:
    """Return the tasks of some parts."""
    tasks: list[Task] = []
    if "k" in parts:
        ks = settings.QUICK_KS if quick else settings.KS
        for data, references in _k_data(quick).items():
            tasks += _tasks("k", data, [(policy, k) for policy in settings.K_POLICIES for k in ks], quick)
            tasks += _tasks("k", data, [(policy, 0) for policy in references], quick)
    if "steps" in parts:
        steps = settings.QUICK_STEPS if quick else settings.STEPS
        strengths = settings.QUICK_STRENGTHS if quick else settings.STRENGTHS
        for data in settings.QUICK_DATA["steps"] if quick else settings.STEPS_DATA:
            tasks += _tasks("steps", data, [("default", number) for number in steps], quick)
        for data in settings.QUICK_DATA["cost"] if quick else settings.COST_DATA:
            tasks += _tasks("cost", data, [("cost-aware", strength) for strength in strengths], quick)
    if "losses" in parts:
        for data in settings.QUICK_DATA["losses"] if quick else settings.LOSSES_DATA:
            tasks += _tasks("losses", data, [(label, 1) for label in (*settings.LOSSES, "uniform")], quick)
    return tasks


def _k_data(quick: bool) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(settings.QUICK_DATA["k"], ("all", "none")) if quick else settings.K_DATA


def _tasks(part: str, data: str, compared: Iterable[tuple[str, float]], quick: bool) -> list[Task]:
    epochs = settings.QUICK_EPOCHS if quick else settings.DATA[data].epochs
    seeds = range(settings.SEED, settings.SEED + (settings.QUICK_SEEDS if quick else settings.SEEDS))
    return [Task(part, data, label, value, seed, epochs) for label, value in compared for seed in seeds]
