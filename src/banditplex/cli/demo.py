"""`banditplex demo`."""

from pathlib import Path
from typing import Annotated

import typer

from banditplex.cli.output import Json, print_json, print_table
from banditplex.terminal import bars


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="Splits of the data to train on.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the figure.")] = Path("banditplex-demo"),
    as_json: Json = False,
) -> None:
    """Show what choosing layers is worth, on the built-in data set `twins`; about a minute."""
    from banditplex import demo as show

    show.check_folder(out)
    with bars(show.POLICIES, seeds * epochs) as advance:

        def on_epoch(policy: str, seed: int, auc: float) -> None:
            if advance is not None:
                advance(policy, f"test AUC {auc:.3f}")

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
