"""`banditplex demo`."""

from pathlib import Path
from typing import Annotated

from banditplex.cli.options import option
from banditplex.cli.output import Json, print_json, print_lines, print_table, wrapped
from banditplex.terminal import bars


def demo(
    seeds: Annotated[int, option("Splits of the data to train on.", min=1)] = 2,
    epochs: Annotated[int, option("Epochs of each training.", min=1)] = 10,
    out: Annotated[Path, option("Folder for the report.", "DIR")] = Path("banditplex-demo"),
    as_json: Json = False,
) -> None:
    """Show which layers help, and what finding them is worth, on the data set `groups`; under a minute."""
    from banditplex import demo as show
    from banditplex.storage.files import make_folder

    make_folder(out)  # before anything is trained
    with bars(show.POLICIES, seeds * epochs) as advance:
        measured = show.measure(seeds=seeds, epochs=epochs, on_epoch=advance)
    page = show.write_page_of(measured, out)
    rows, differences, gains = show.summarise(measured), show.compare(measured), show.proven(measured)
    if as_json:
        compared = {"differences": differences, "oracle_share": show.oracle_share(rows)}
        print_json({"gains": gains, "policies": rows, **compared, "report": str(page)})
        return
    print(f"{show.introduce(measured)}\n\n{wrapped(show.judge_gains(gains))}\n")
    print_table(*show.proven_table(gains))
    print()
    print_table(*show.policy_table(rows))
    worth = show.conclude(rows, differences, splits=seeds, epochs=epochs)
    print(f"\n{wrapped(show.HOW)}\n\n{wrapped(worth)}")
    print_lines(f"\nReport: {page}")
