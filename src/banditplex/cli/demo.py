"""`banditplex demo`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from banditplex.cli.output import Json, print_json, print_table
from banditplex.terminal import bars


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="Splits of the data to train on.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the picture goes.")] = Path("banditplex-demo"),
    as_json: Json = False,
) -> None:
    """Show what choosing layers is worth, on the built-in data set `twins`; about a minute."""
    from banditplex import demo as show

    show.check_folder(out)
    with _policies(show.POLICIES, seeds * epochs) as on_epoch:
        measured = show.measure(seeds=seeds, epochs=epochs, on_epoch=on_epoch)
    picture = show.write_picture(measured, out)
    rows, learnt = show.summarise(measured), show.learnt(measured)
    if as_json:
        share = show.oracle_share(rows)
        print_json({"policies": rows, "oracle_share": share, "learnt": learnt, "picture": str(picture)})
        return
    print(f"{show.introduce(measured)}\n")
    print_table(*show.policy_table(rows))
    print(f"\n{show.conclude(rows)}\n")
    print_table(*show.learnt_table(learnt))
    print(f"\nCurves: {picture}")


@contextmanager
def _policies(names: Iterable[str], total: int) -> "Iterator[Callable[[str, int, float], None] | None]":
    """Yield a callback that draws a bar per policy on stderr, with the test AUC beside it."""
    with bars("auc") as room:
        if room is None:
            yield None
            return
        tasks = {name: room.add_task(name, total=total, start=False, auc="") for name in names}

        def show(policy: str, seed: int, auc: float) -> None:
            room.start_task(tasks[policy])
            room.update(tasks[policy], advance=1, auc=f"test AUC {auc:.3f}")

        yield show
