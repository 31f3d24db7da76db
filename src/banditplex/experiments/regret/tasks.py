"""The whole regret experiment in pieces that run beside each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from banditplex.experiments.regret import analysis, free, settings, theorem
from banditplex.experiments.regret.environments import HELD_OUT, MAIN
from banditplex.experiments.regret.measure import measure


@dataclass(frozen=True)
class Task:
    """One line of a table: `table` is main, held-out, free, example or bound; `game` names the losses."""

    table: str
    game: str
    sizes: tuple[int, ...]  # arms, rounds; for free: layers, targets, k, rounds
    runs: int
    seed: int

    @property
    def key(self) -> str:
        """The name of the task; names sort in the order of tables, sizes and games."""
        sizes = "x".join(f"{size:05}" for size in self.sizes)
        return f"{self.table} {sizes} {self.game}".strip()


def all_tasks(*, seed: int, quick: bool = False) -> list[Task]:
    """Return the tasks of the experiment; the longest come first."""
    plan = settings.QUICK_PLAN if quick else settings.PLAN
    tasks = [Task("main", game, size, runs, seed) for size, runs in plan["main"].items() for game in MAIN]
    tasks += [Task("held-out", game, size, runs, seed) for size, runs in plan["held-out"].items() for game in HELD_OUT]
    tasks += [Task("bound", game, size, runs, seed) for size, runs in plan["bound"].items() for game in MAIN]
    tasks += [Task("free", "", shape, runs, seed) for shape, runs in plan["free"].items()]
    examples = settings.QUICK_COUNTER_EXAMPLES if quick else tuple(settings.COUNTER_EXAMPLES)
    for game in examples:
        losses, horizon = settings.COUNTER_EXAMPLES[game]
        tasks.append(Task("example", game, (len(losses), horizon), settings.COUNTER_RUNS, seed))
    return sorted(tasks, key=lambda task: -task.sizes[0] * task.sizes[-1] * task.runs)


def work(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task."""
    head: dict[str, Any] = {"table": task.table, "runs": task.runs}
    if task.table == "free":
        for cell in analysis.cells(free.measure({task.sizes: task.runs}, seed=task.seed)):
            yield head | cell._asdict()
        return
    arms, horizon = task.sizes
    if task.table == "example":
        compared = theorem.compare(task.game, runs=task.runs, seed=task.seed)
        yield head | {"arms": arms, "horizon": horizon} | compared._asdict()
    elif task.table == "bound":
        compared = theorem.compare_environment(task.game, arms, horizon, runs=task.runs, seed=task.seed)
        yield head | {"arms": arms, "horizon": horizon} | compared._asdict()
    else:
        results = measure([task.game], settings.POLICIES, [(arms, horizon)], runs=task.runs, seed=task.seed)
        for cell in analysis.cells(results):
            yield head | cell._asdict()
