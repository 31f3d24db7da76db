"""Tasks with limits: each runs in a child process, which ends itself when it takes too long or too much memory.

`alone` is the parent's side: it sends a task to the child process and returns its outcome. `limited` is the child's: a
block that is measured and watched. A child is used for one task after another, and a new one is started after it ended.
"""

import ctypes
import gc
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, Timer
from time import perf_counter, process_time
from typing import Any

from banditplex.jobs.task import Function, Outcome, failure
from banditplex.jobs.worker import Worker, WorkerDied, pickled
from banditplex.terminal import warn

OUT_OF_TIME, OUT_OF_MEMORY = 75, 76  # exit statuses of a child that exceeded a limit
REASONS = {OUT_OF_TIME: "out of time", OUT_OF_MEMORY: "out of memory"}
INTERVAL = 0.02  # seconds between two looks at the clock and the memory
PATIENCE = 5  # a block may wait for other processes: it ends after this many times its seconds on the clock, too


# In the parent

_child: tuple[bytes, Worker] | None = None


def alone(function: Function, task: Any, *, at_most: float) -> Outcome:
    """Run a task in the child process of this process, and return its outcome.

    It is started anew unless the last task had the same function. If it ends itself, the error is one of `REASONS`. It
    is killed after `at_most` seconds, in case it hangs in code that its watch cannot interrupt.
    """
    global _child
    payload = pickled(function)
    if _child is None or _child[0] != payload:
        stop_child()
        _child = payload, Worker(payload)
    worker, hangs = _child[1], Event()

    def kill() -> None:
        hangs.set()
        worker.kill()

    timer = Timer(at_most, kill)
    timer.daemon = True
    timer.start()
    try:
        outcome = worker.call(task)
        for each in outcome.notes:
            warn(each)
        return outcome
    except WorkerDied as died:
        stop_child()
        return Outcome(error=REASONS[OUT_OF_TIME] if hangs.is_set() else REASONS.get(died.status, str(died)))
    except Exception as error:  # the task cannot be pickled
        return failure(error)._replace(cause=None)
    except BaseException:
        stop_child()
        raise
    finally:
        timer.cancel()


def stop_child() -> None:
    """End the child process, if there is one."""
    global _child
    if _child is not None:
        _child[1].kill()
        _child[1].close()
        _child = None


# In the child


@dataclass
class Usage:
    """What a block took: seconds, and bytes of memory at its peak, beyond what the process had `before`.

    Seconds are processor time, so that other processes do not count; if a GPU is used, time on the clock.
    """

    before: int
    elapsed: Callable[[], float]  # seconds since the block began
    seconds: float = 0.0
    memory: int = 0


@contextmanager
def limited(seconds: float, memory: float, *, before: int | None = None) -> Iterator[Usage]:
    """Measure a block; end this process with `OUT_OF_TIME` or `OUT_OF_MEMORY` when it takes more than is allowed.

    Memory is in bytes beyond what the process has before the block, or `before` an earlier one; that of a GPU counts.
    An error for lack of memory ends it as well.
    """
    now = fresh_start()
    if _cuda() is not None:  # an allocation beyond the limit is refused: the watch would come too late
        _cuda().set_per_process_memory_fraction(min(memory / _cuda().mem_get_info()[1], 1.0))
    on_clock, on_processor = perf_counter(), process_time()

    def elapsed() -> float:
        return perf_counter() - on_clock if _cuda() is not None else process_time() - on_processor

    usage, done = Usage(now if before is None else before, elapsed), Event()

    def watch() -> None:
        while not done.wait(INTERVAL):
            if elapsed() > seconds or perf_counter() - on_clock > PATIENCE * seconds:
                os._exit(OUT_OF_TIME)
            if peak_memory() - usage.before > memory:
                os._exit(OUT_OF_MEMORY)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield usage
        if _cuda() is not None:
            _cuda().synchronize()
    except Exception as error:
        if lacks_memory(error):
            os._exit(OUT_OF_MEMORY)
        raise
    finally:
        done.set()
        watcher.join()
    usage.seconds, usage.memory = elapsed(), max(peak_memory() - usage.before, 0)


def lacks_memory(error: Exception) -> bool:
    """Return whether an error says that memory could not be allocated: one of Python, numpy or torch, on any device."""
    said = str(error).lower()
    phrases = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(each in said for each in phrases))


def fresh_start() -> int:
    """Free what earlier tasks have left, reset the peak, and return the bytes in use."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    cuda = _cuda()
    if cuda is not None:
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    return peak_memory()


def peak_memory() -> int:
    """Return the highest memory use so far, in bytes: of this process, and of its GPU."""
    cuda = _cuda()
    on_gpu = 0 if cuda is None else int(cuda.max_memory_allocated())
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return on_gpu + 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return on_gpu + unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cuda() -> Any:
    """Return `torch.cuda` if this process uses it."""
    torch: Any = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
