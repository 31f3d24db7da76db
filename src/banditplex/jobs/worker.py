"""Worker processes: `Worker` is the parent's handle of one, `main` runs in the child.

Messages are pickles, through a `multiprocessing.Pipe` that is the child's stdout, never from a file. The child does
not import the parent's script, and exits when the pipe closes, so that it never outlives the parent.

`concurrent.futures.ProcessPoolExecutor` does less (tried with real kills). One killed worker fails all unfinished tasks
with BrokenProcessPool, which names neither task nor signal. Workers survive a parent killed by SIGKILL, idle or busy,
and after SIGINT the parent waits for running tasks. With spawn and forkserver, scripts need a main guard and notebook
functions are not found; fork is unsafe beside threads.
"""

import os
import pickle
import signal
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from banditplex.jobs.task import Function, Outcome, attempt_remotely, failure

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class WorkerDied(Exception):
    """A worker process ended before it answered; `status` is its exit status."""

    def __init__(self, status: int) -> None:
        name = signal.Signals(-status).name if status < 0 else ""
        reason = f"by {name}{', perhaps for lack of memory' * (name == 'SIGKILL')}" if name else f"with status {status}"
        super().__init__(f"its process ended {reason}")
        self.status = status


class Worker:
    """A process that runs tasks, one at a time; `function` is the pickled function of a task."""

    def __init__(self, function: bytes) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from banditplex.jobs.worker import main; main()"],
                stdin=subprocess.DEVNULL, stdout=theirs.fileno(), env=environment | dict.fromkeys(THREADS, "1"),
            )  # fmt: skip
        self._unsent = [function]

    def call(self, task: Any) -> Outcome:
        """Send a task to the process and wait for its outcome; raise `WorkerDied` if the process ends first."""
        self._unsent.append(pickled(task))
        try:
            while self._unsent:
                self._pipe.send_bytes(self._unsent.pop(0))
            return self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDied(self._process.wait()) from None

    def kill(self) -> None:
        """Kill the process, also in the middle of a task."""
        self._process.kill()

    def close(self) -> None:
        """Wait until the process has ended and close the pipe; no thread may be waiting in `call`."""
        self._process.wait()
        self._pipe.close()


def pickled(value: Any) -> bytes:
    """Pickle a value; with cloudpickle if it is installed, so that scripts and notebooks can define functions."""
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    return dumps(value)


# In the child


def main() -> None:
    """Receive a function, then tasks; answer each task with its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent kills its workers
    pipe = Connection(os.dup(1))
    os.dup2(2, 1)  # what a task prints goes to stderr: stdout is the pipe
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=[pipe, messages], daemon=True).start()
    pickled_function = messages.get()
    function: Function | None = None
    while True:
        pickled_task = messages.get()
        try:
            function = function or pickle.loads(pickled_function)
            outcome = attempt_remotely(function, pickle.loads(pickled_task))
        except Exception as error:
            outcome = failure(error)._replace(cause=None)
        pipe.send(outcome)


def _listen(pipe: Connection, messages: "SimpleQueue[bytes]") -> None:
    """Read messages in a thread, so that the end of the pipe ends the process even in the middle of a task."""
    try:
        while True:
            messages.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)
