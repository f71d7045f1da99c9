"""A server on this machine that answers like a language model, or like something worse; nothing else is ever contacted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-planted-0123456789abcdef"
"""A key that must turn up nowhere."""


class Handler(BaseHTTPRequestHandler):
    """Hands every request to the script of the server."""

    server: FakeModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer, or not."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(Asked(self.path, dict(self.headers), body))
        self.close_connection = True
        script = self.server.scripts.pop(0) if len(self.server.scripts) > 1 else self.server.scripts[0]
        try:
            script(self)
        except (BrokenPipeError, ConnectionResetError):  # the other side gave up, as it should
            return

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def reply(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


Script = Callable[[Handler], None]


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything the model was told."""
        return "\n".join(message["content"] for message in self.body["messages"])


class FakeModel(ThreadingHTTPServer):
    """Plays one script after the other; the last one again and again."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *scripts: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts = list(scripts)
        self.asked: list[Asked] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        """As the user would configure it."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def fake_model(*scripts: Script) -> Iterator[FakeModel]:
    """A server for as long as the block lasts."""
    server = FakeModel(*scripts)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text: object) -> bytes:
    """The JSON around an answer."""
    return json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}).encode()


def says(text: object) -> Script:
    """A good answer with some text."""
    return lambda handler: handler.reply(200, completion(text))


def status(code: int, content: bytes = b"{}", kind: str = "application/json", **headers: str) -> Script:
    """An answer with another status."""
    return lambda handler: handler.reply(code, content, kind, **headers)


def raw(content: bytes, kind: str = "application/json", **headers: str) -> Script:
    """A body as it is."""
    return lambda handler: handler.reply(200, content, kind, **headers)


def drip(handler: Handler) -> None:
    """One byte after the other, without an end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"1\r\n \r\n")
        handler.wfile.flush()


def drip_headers(handler: Handler) -> None:
    """Headers without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"X")
        handler.wfile.flush()


def stall(handler: Handler) -> None:
    """Nothing at all, for as long as the test takes."""
    handler.server.over.wait(20)


def cut(handler: Handler) -> None:
    """A promise of more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.wfile.flush()
    handler.connection.close()


def endless_body(handler: Handler) -> None:
    """As many megabytes as the other side takes."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10 << 4):
        handler.wfile.write(b"x" * (1 << 16))


@dataclass
class Pauses:
    """Notes how long would have been waited."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        time.sleep(0)
