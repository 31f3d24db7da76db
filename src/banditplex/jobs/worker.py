"""Processes that run tasks: a handle, `Worker`, on this side, `main` on the other.

Messages are pickles, each behind its length, on the child's standard input and output. The child imports nothing of
the script that started it. It ends when its input does, so that it does not outlive its parent, however that ends.
"""

import os
import pickle
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from banditplex.jobs.task import Function, Outcome, attempt, failure

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
LENGTH = struct.Struct("<Q")


class Died(Exception):
    """A process ended while it had something to do."""


class Worker:
    """A process that runs the tasks it is given, one at a time.

    Parameters: `function`, pickled, of a task.
    """

    def __init__(self, function: bytes) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from banditplex.jobs.worker import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment | dict.fromkeys(THREADS, "1"),
        )  # fmt: skip
        self._function: bytes | None = function

    def call(self, task: Any) -> tuple[Any, ...]:
        """Return the outcome of a task, which the process works out now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = packed(task)
        try:
            if self._function is not None:
                _write(self._process.stdin, self._function)
                self._function = None
            _write(self._process.stdin, message)
            outcome: tuple[Any, ...] = pickle.loads(_read(self._process.stdout))
            return outcome
        except (EOFError, OSError):
            raise Died(f"its process ended {_how(self._process.wait())}") from None

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """Wait for the end of the process and give back what it held; nobody may be waiting for an answer."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what it did not read any more
                pipe.close()  # type: ignore[union-attr]


def packed(thing: Any) -> bytes:
    """Return a pickle of anything; with cloudpickle, what scripts and notebooks define travels by value."""
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    data: bytes = dumps(thing)
    return data


def _how(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


def _write(file: BinaryIO | Any, message: bytes) -> None:
    file.write(LENGTH.pack(len(message)))
    file.write(message)
    file.flush()


def _read(file: BinaryIO | Any) -> bytes:
    (size,) = LENGTH.unpack(_take(file, LENGTH.size))
    return _take(file, size)


def _take(file: BinaryIO | Any, size: int) -> bytes:
    data: bytes = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


# The other side


def main() -> None:
    """Take a function, then tasks, and answer each with its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a task prints must not come between the answers
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=[messages], daemon=True).start()
    answer = _Answer(messages.get())
    while True:
        _write(answers, pickle.dumps(answer(messages.get())[:-1]))


class _Answer:
    """Works tasks out with a function that is unpickled when the first one comes."""

    def __init__(self, function: bytes) -> None:
        self._packed = function
        self._function: Function | None = None

    def __call__(self, task: bytes) -> Outcome:
        try:
            self._function = self._function or pickle.loads(self._packed)
            unpacked = pickle.loads(task)
        except Exception as error:
            return failure(error)
        return attempt(self._function, unpacked)


def _listen(messages: "SimpleQueue[bytes]") -> None:
    try:
        while True:
            messages.put(_read(sys.stdin.buffer))
    except EOFError:
        os._exit(1)
