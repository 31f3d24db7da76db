"""Where the real data are, and a server on this machine that behaves as badly as asked."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data():
    """The folder with the real data sets; tests that need it are skipped where it is not given."""
    if not os.environ.get("BANDITPLEX_DATA"):
        pytest.skip("BANDITPLEX_DATA is not set")
    return Path(os.environ["BANDITPLEX_DATA"]).resolve()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder."""
    path = tmp_path / "data"
    path.mkdir()
    monkeypatch.setenv("BANDITPLEX_DATA", str(path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return path


class Site(ThreadingHTTPServer):
    """Serves `pages` (path -> bytes); those in `cut` break off half-way, `mute` never answer, `moved` redirect."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        self.pages, self.cut, self.mute, self.closing = {}, set(), set(), threading.Event()
        self.moved = {}

    def address(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def add(self, path, content):
        self.pages[path] = content
        return self.address(path)


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.pages.get(self.path)
        if self.path in self.server.mute:
            self.server.closing.wait(10)
            return
        if self.path in self.server.moved:
            self.send_response(302)
            self.send_header("Location", self.server.moved[self.path])
            self.end_headers()
            return
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.path in self.server.cut else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()
        thread.join()
