"""Which lines of some files are run, between two calls."""

import sys
import threading
from types import CodeType, FrameType
from typing import Any

Lines = set[tuple[str, int]]


class Trace:
    """Collects the lines that run in files below some folders. From Python 3.12 on, a line costs time once a test."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders, self._lines = folders, Lines()
        self._known: dict[str, bool] = {}
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutants")
            monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, self._on_line)

    def begin(self) -> None:
        """Collect from now on."""
        self._lines = Lines()
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, sys.monitoring.events.LINE)
            sys.monitoring.restart_events()
        else:
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)

    def end(self) -> Lines:
        """Stop; return (file, line) of all that ran."""
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        else:
            sys.settrace(None)
            threading.settrace(None)
        return self._lines

    def _is_inside(self, file: str) -> bool:
        if file not in self._known:
            self._known[file] = file.startswith(self._folders)
        return self._known[file]

    def _on_line(self, code: CodeType, line: int) -> Any:
        if self._is_inside(code.co_filename):
            self._lines.add((code.co_filename, line))
        return sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]

    def _on_call(self, frame: FrameType, event: str, value: Any) -> Any:
        return self._on_local if self._is_inside(frame.f_code.co_filename) else None

    def _on_local(self, frame: FrameType, event: str, value: Any) -> Any:
        self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._on_local
