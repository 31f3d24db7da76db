"""`banditplex demo`."""

from math import isnan
from pathlib import Path
from typing import Annotated

from banditplex.cli.options import option
from banditplex.cli.output import Json, print_json, print_lines, print_table, wrapped
from banditplex.terminal import bars


def demo(
    seeds: Annotated[int, option("Splits of the data to train on.", min=1)] = 3,
    epochs: Annotated[int, option("Epochs of each training.", min=1)] = 10,
    out: Annotated[Path, option("Folder for the report.", "DIR")] = Path("banditplex-demo"),
    as_json: Json = False,
) -> None:
    """Show which layers help, and what choosing layers is worth, on the data set `twins`; under a minute."""
    from banditplex import demo as show
    from banditplex.storage.files import make_folder

    make_folder(out)  # before anything is trained
    with bars(show.POLICIES, seeds * epochs) as advance:

        def on_epoch(policy: str, seed: int, auc: float) -> None:
            if advance is not None:
                advance(policy, "" if isnan(auc) else f"test AUC {auc:.3f}")

        measured = show.measure(seeds=seeds, epochs=epochs, on_epoch=on_epoch)
    page = show.write_page_of(measured, out)
    rows, differences, learnt = show.summarise(measured), show.compare(measured), show.learnt(measured)
    if as_json:
        compared = {"differences": differences, "oracle_share": show.oracle_share(rows)}
        print_json({"gains": learnt, "policies": rows, **compared, "report": str(page)})
        return
    print(f"{show.introduce(measured)}\n\n{wrapped(show.judge_gains(learnt))}\n")
    print_table(*show.learnt_table(learnt))
    print()
    print_table(*show.policy_table(rows))
    worth = show.conclude(rows, differences, splits=seeds, epochs=epochs)
    print(f"\n{wrapped(show.HOW)}\n\n{wrapped(worth)}")
    print_lines(f"\nReport: {page}")
