"""`banditplex compare`."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from banditplex.cli import options
from banditplex.cli.data import DATA, Reading, begin, find_targets, load, published_split, reads_data
from banditplex.cli.options import option
from banditplex.cli.output import Json, print_json, print_lines, print_table, wrapped
from banditplex.cli.report import last_line, page_beside, try_page
from banditplex.cli.resuming import say_new, telling
from banditplex.errors import InputError
from banditplex.jobs.engine import check_engine
from banditplex.pairs.visibility import HIDE, check_hide
from banditplex.registry import Registry, check_choice
from banditplex.storage.rows import begun, check_folder
from banditplex.terminal import bars

if TYPE_CHECKING:
    from banditplex.leaderboard.board import Leaderboard
    from banditplex.leaderboard.lines import Table

FULL: dict[str, Any] = {"methods": None, "trials": 10, "budget": 120.0}
QUICK: dict[str, Any] = {"methods": "quick", "trials": 1, "budget": 60.0}
"""Defaults of options, without and with --quick."""
METHODS = (
    "default", "none", "uniform", "exp3+", "all", "svd", "svd-union", "regression", "pooled-regression", "pooled-trees",
    "gcn-distmult", "ncn-all", "mean", "attention", "common-neighbours", "common-neighbours-union", "jaccard",
    "jaccard-union", "adamic-adar", "adamic-adar-union", "resource-allocation", "resource-allocation-union",
    "preferential-attachment", "preferential-attachment-union", "overlap", "overlap+union", "katz", "katz-union",
    "node2vec", "node2vec-union", "mne", "gatne-t", "gnn-bs", "gnn-bs-union", "thanos", "thanos-union", "seal",
    "seal-union", "deeplex", "distmult-torch", "complex-torch", "simple-torch", "rotate-torch",
)  # fmt: skip
"""The names in `find_methods()`, which takes seconds to import; and groups of them."""
GROUPS = ("quick", "main", "ours")
LEADING = (("filtered_mrr", "filtered MRR"), ("hard_mrr", "hard MRR"), ("roc_auc", "ROC-AUC"))
"""Metrics of which the first that there is shows how a fit went."""


@reads_data
def compare(
    reading: Reading,
    data: Annotated[list[str] | None, DATA] = None,
    methods: Annotated[
        str | None, option("Methods; quick, main and ours stand for several.", "A,B,..", shown="all")
    ] = None,
    hide: Annotated[str, option("Hide held-out pairs in their own layer or in every layer.", "layer|pair")] = "layer",
    budget: Annotated[float | None, option("Time limit of a fit and test.", "SECONDS", shown="120", min=0.001)] = None,
    memory: Annotated[float, option("Memory limit of a fit.", "GB", min=0.001)] = 8.0,
    seeds: Annotated[int, option("Number of seeds; each has its own split.", min=1)] = 5,
    trials: Annotated[
        int | None, option("Settings that each method may try on validation edges; 1: no tuning.", shown="10", min=1)
    ] = None,
    quick: Annotated[
        bool, option("--quick", "Does it help on my data? Fast methods without tuning, in a few minutes.")
    ] = False,
    split: Annotated[
        str,
        option(
            "fixed: use the published split of DATA, without leaking pairs; fixed-with-leaks: with them.",
            "random|fixed|fixed-with-leaks",
        ),
    ] = "random",
    target: options.Target = None,
    device: Annotated[
        str, option("Device of methods that can use a GPU; auto: cuda, if there is one.", "auto|cpu|cuda")
    ] = "auto",
    engine: Annotated[str, option("Where fits are executed; ray is an extra.", "processes|serial|ray")] = "processes",
    jobs: Annotated[int | None, option("Number of parallel fits.", shown="one per processor; on a GPU, 1")] = None,
    out: Annotated[Path | None, option("-o", "--out", "Write tables (CSV, Markdown, HTML) to DIR.", "DIR")] = None,
    resume: Annotated[bool, option("--resume", "Continue the comparison in DIR.")] = False,
    list_methods: Annotated[bool, option("--list-methods", "List the methods and exit.")] = False,
    quiet: Annotated[bool, option("--quiet", "Show no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Compare our learner with all other methods on the same splits: the leaderboard.

    Every method has the same tuning budget and the same limits. A method that fails, or exceeds its time or memory, is
    a row that says so.
    """
    if list_methods:
        from banditplex.leaderboard import find_methods

        known = [(method, method.trials(10)) for method in find_methods().values()]
        if as_json:
            print_json([{"name": m.name, "ours": m.ours, "about": m.about, "settings": some} for m, some in known])
        else:
            print_table(["method", "settings", "what it is"], [[m.name, len(some), m.about] for m, some in known])
        return
    if not data:
        raise InputError("Expected DATA, a data set, file or folder to compare methods on, got none.")
    if resume and out is None:
        raise InputError("Expected -o DIR with --resume, got none.")
    leaks = _leaks(split, hide)
    _check_methods(methods)
    check_engine(engine, jobs)
    if out is not None:
        check_folder(out, resume=resume, how="--resume")
    given = QUICK if quick else FULL
    names, trials = methods or given["methods"], trials or given["trials"]
    tuning = f"{seeds} seed{'s' * (seeds > 1)} each, up to {trials} setting{'s' * (trials > 1)} tried"
    title = begin(data, f"fits of these methods: {names or 'all'}; {tuning}", quiet=quiet)
    fixed = None if leaks is None else published_split(data, leaks=leaks)
    mx = fixed.test.train if fixed else load(data, reading, quiet=quiet)
    targets = find_targets(mx, target)
    from banditplex.leaderboard import board as boards
    from banditplex.leaderboard import compare as run_all
    from banditplex.leaderboard import lines
    from banditplex.leaderboard.methods import choose_methods
    from banditplex.leaderboard.plan import Parts, Plan, describe_device, find_device
    from banditplex.report.collect import collect_leaderboard
    from banditplex.report.kept import PAGE

    chosen = choose_methods(names.split(",") if names is not None else None)
    where = find_device(device, engine)
    plan = Plan(
        hide=hide, seeds=seeds, memory=memory, trials=trials, budget=budget or given["budget"], targets=targets,
        device=where,
    )  # fmt: skip
    plan.check(mx)
    if mx.num_layers == 1:
        chosen = [each for each in chosen if each.name != lines.PLANNED]  # there are no other layers to do without
    with warnings.catch_warnings(action="ignore"):  # the comparison tells it
        about = boards.describe(mx, Parts(mx, hide, fixed).split(0), plan.targets)
    how = "triples" if fixed is not None and fixed.of_triples else leaks
    board = boards.Leaderboard(title, about, plan, fixed=how, device=describe_device(where))
    if not as_json:
        print(f"{title}: {about.title}\n{_wrap(about.sentences)}")
        if about.warning:
            print(_wrap([f"Warning: {about.warning}"]))
        print(f"\n{_wrap(board.conditions)}\n", flush=True)
    if out is not None and resume and not begun(out) and not quiet:
        say_new(out)
    done = 0
    with telling(out, lambda: f" after {done} fits"), _progress(quiet) as tell:

        def on_progress(now: int, total: int, rows: list[dict[str, Any]]) -> None:
            nonlocal done
            done = now
            if tell is not None:
                tell(now, total, rows[-1])

        rows = run_all(
            mx, chosen, plan=plan, fixed=fixed, engine=engine, jobs=jobs, folder=out, resume=resume,
            on_progress=on_progress,
        )  # fmt: skip
    board = replace(board, lines=lines.make_lines(rows), layers=lines.layer_lines(rows), tests=lines.finished(rows))
    files = boards.write(board, out) if out is not None else []
    place = out / PAGE if out is not None else None if as_json else page_beside(data, "comparison")
    page = None
    if place is not None:
        page = try_page(place, collect_leaderboard(title, mx, boards.for_page(board)), asked=out is not None)
    if as_json:
        print_json(boards.as_json(board) | {"out": out and str(out), "report": page and str(page)})
        return
    _print_board(board)
    listed = ", ".join(map(str, files))
    print_lines("\n" + last_line([f"Files: {listed}."] * bool(files), page))


def _leaks(split: str, hide: str) -> str | None:
    """Return what becomes of the leaking pairs of a split that comes with the data; None: another split is used."""
    leaks = {"random": None, "fixed": "drop", "fixed-with-leaks": "keep"}
    check_choice("--split", split, leaks)
    check_hide(hide, "--hide")
    if leaks[split] is not None and hide != HIDE[1]:
        raise InputError(f"Expected --hide {HIDE[1]} with --split {split}, got {hide!r}.")
    return leaks[split]


def _check_methods(names: str | None) -> None:
    """Refuse an unknown method before anything that takes long to import is imported.

    Once baselines are imported, others may have been registered, and `choose_methods` knows them.
    """
    if names is None or "banditplex.baselines" in sys.modules:
        return
    known: Registry[None] = Registry("method")
    known.update(dict.fromkeys(METHODS))
    for name in names.split(","):
        if name not in GROUPS:
            known[name]  # refuses


def _print_board(board: "Leaderboard") -> None:
    from banditplex.leaderboard.board import verdict
    from banditplex.leaderboard.lines import COST, INSTEAD, RANKINGS, TELLING, difference_table, main_table

    parts = (RANKINGS, TELLING, INSTEAD, (*COST, "settings", "note"))
    tables = [main_table(board.lines, columns) for columns in parts]
    for table in (*tables, difference_table(board.lines)):
        if table is not None and len(table.heads) > 1:
            _print(table)
            print()
    print(_wrap(["> ours; * the best of its column.", *board.legend]))
    if answer := verdict(board.lines):
        print(f"\n{_wrap([answer])}")


def _print(table: "Table") -> None:
    """Print a table: > before ours, * after the best of a column, in colour; nothing around ±, for 80 columns."""
    from rich.text import Text

    rows = []
    for line, ((method, _), *others) in table.rows:
        style = "cyan" if line.ours else "" if line.seeds else "dim"
        rows.append([Text(f"{'> ' if line.ours else '  '}{method}", style)])
        for text, best in others:
            close = text.replace(" ± ", "±")
            rows[-1].append(Text(f"{close}*", f"bold {style}") if best else Text(close, style))
    print_table([f"  {table.heads[0]}", *table.heads[1:]], rows)


def _wrap(sentences: list[str]) -> str:
    return wrapped(" ".join(sentences), break_on_hyphens=False)


@contextmanager
def _progress(quiet: bool) -> "Iterator[Callable[[int, int, dict[str, Any]], None] | None]":
    """Yield a callback (done, total, row) that shows fits as they finish."""
    with bars(["fits"], 1, quiet=quiet) as show:

        def tell(done: int, total: int, row: dict[str, Any]) -> None:
            name, title = next(each for each in LEADING if each[0] in row or each is LEADING[-1])
            result = row.get("error") or f"{title} {row[name]:.3f}"
            text = f"{row['method']}, seed {row['trial']}{', tuning' * row['tuning']}: {result}"
            if show is not None:
                show("fits", text, completed=done, total=total)
            else:
                print(f"{done}/{total}  {text}", file=sys.stderr, flush=True)

        yield None if quiet else tell
