"""Commands that can be stopped and resumed: what they check first, and what they tell the user."""

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from banditplex.errors import InputError
from banditplex.jobs.task import TaskLost
from banditplex.storage.rows import begun, check_folder
from banditplex.terminal import say
from banditplex.training.distributed import launcher, on_sigterm


@contextmanager
def resumable(folder: Path, *, resume: bool, program: str = "banditplex") -> Iterator[None]:
    """Run a command that keeps its results in a folder; after Ctrl-C, print the command that resumes it."""
    check_folder(folder, resume=resume, how="--resume")
    if resume and not begun(folder):
        say_new(folder)
    with telling(folder, program=program):
        yield


@contextmanager
def telling(
    place: Path | None, done: Callable[[], str] = str, *, program: str = "banditplex", quiet: bool = True
) -> Iterator[None]:
    """Say what was done and how to go on if a command is stopped, or loses a task; results are kept in a place."""
    try:
        with stoppable(quiet=quiet):
            yield
    except (KeyboardInterrupt, TaskLost) as stop:
        how = "nothing was kept, as there is no -o" if place is None else f"continue with: {resume_command(program)}"
        if isinstance(stop, TaskLost):
            raise InputError(f"{stop} Stopped{done()}; {how}") from None
        say(f"stopped{done()}; {how}")
        raise SystemExit(exit_status(stop)) from None


class Terminated(KeyboardInterrupt):
    """SIGTERM: stop as after Ctrl-C."""


@contextmanager
def stoppable(*, quiet: bool = True, ends: bool = False) -> Iterator[str]:
    """Let SIGTERM stop a command as Ctrl-C does; yield how to stop it, and say so where Ctrl-C is ignored.

    It is ignored in what a shell script starts in the background. With `ends`, SIGTERM ends the process at once: it has
    nothing to write, and may wait for others.
    """
    how = "Ctrl-C"
    if ends:
        yield how
        return

    def stop(number: int, frame: object) -> None:
        raise Terminated

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        how = f"kill {os.getpid()}"
        if not quiet:
            say(f"Ctrl-C is ignored here, as in the background of a script; to stop it: {how}")
    with on_sigterm(stop):
        yield how


def exit_status(stop: BaseException) -> int:
    """Return the exit status of a command that was stopped, as shells know it."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def check_file(file: Path | None, *, resume: bool) -> None:
    """Refuse a result file that exists unless it is to be resumed, and `--resume` without a file."""
    if resume and file is None:
        raise InputError("Expected -o FILE with --resume, got none.")
    if file is not None and file.exists() and not resume:
        raise InputError(f"{file}: exists; --resume continues this run; or choose another file.")
    if file is not None and not file.parent.is_dir():
        raise InputError(f"{file}: expected the folder {file.parent} to exist.")


def say_new(place: Path) -> None:
    """Say that `--resume` found no run, so a new one starts."""
    say(f"{place}: nothing to resume; starting a new run.")


def resume_command(program: str = "banditplex") -> str:
    """Return the command that resumes the running one, with as many processes."""
    words = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return f"{launcher() or program} {shlex.join([*words, '--resume'])}"
