"""A web server on this machine that behaves as it is told, well or badly."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """What was asked."""

    method: str
    path: str
    headers: Message
    body: bytes = b""

    @property
    def first_byte(self) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(found[1]) if found else 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, self.headers, body)
        self.site.requests.append(request)
        try:
            self.site.answer_to(self.path)(self, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing on standard error."""

    def reply(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None, *, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name.replace("_", "-"), value)
        if length is None or length >= 0:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        if length is not None and length != len(body):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)


Answer = Callable[[_Handler, Request], None]


def tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'  # noqa: S324


def whole(content: bytes, **headers: str) -> Answer:
    """Ranges honoured, as RFC 9110 has it."""

    def answer(handler: _Handler, request: Request) -> None:
        own = {"ETag": tag(content), **headers}
        first = request.first_byte
        condition = request.headers.get("If-Range")
        if not request.headers.get("Range") or (condition and condition != own["ETag"]):
            handler.reply(200, content, own)
        elif first >= len(content):
            handler.reply(416, headers={"Content-Range": f"bytes */{len(content)}"})
        else:
            handler.reply(206, content[first:], own | {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"})

    return answer


def breaks(content: bytes, after: int, **headers: str) -> Answer:
    """The connection ends `after` bytes further on, whatever was promised."""

    def answer(handler: _Handler, request: Request) -> None:
        first = request.first_byte
        own = {"ETag": tag(content), **headers}
        if first:
            own["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        piece = content[first : first + after]
        handler.reply(206 if first else 200, piece, own, length=len(content) - first)

    return answer


def without_ranges(content: bytes, *, sent: int | None = None, **headers: str) -> Answer:
    """Always everything from the beginning; with `sent`, the connection ends after so many bytes."""

    def answer(handler: _Handler, _request: Request) -> None:
        piece = content if sent is None else content[:sent]
        handler.reply(200, piece, headers, length=len(content))

    return answer


def replies(status: int, body: bytes = b"", length: int | None = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _request: handler.reply(status, body, named, length=length)


def redirects(to: str, status: int = 302) -> Answer:
    return lambda handler, _request: handler.reply(status, headers={"Location": to})


@dataclass
class Site:
    """Paths and what each answers: one answer after the other, the last one for ever.

    Attributes:
        requests: All that was asked.
        closing: Set when the server ends, for answers that wait.
    """

    host: str = ""
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def put(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url(path)

    def answer_to(self, path: str) -> Answer:
        known = self.answers.get(path) or self.answers.get(path.partition("?")[0]) or [replies(404)]
        return known.pop(0) if len(known) > 1 else known[0]

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path.partition("?")[0] == path]

    def stalls(self, content: bytes, after: int) -> Answer:
        """So many bytes, then nothing until the server ends."""

        def answer(handler: _Handler, request: Request) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content)))
            handler.send_header("ETag", tag(content))
            handler.end_headers()
            handler.wfile.write(content[:after])
            handler.wfile.flush()
            self.closing.wait(20)
            handler.close_connection = True

        return answer


@contextmanager
def running_site() -> Iterator[Site]:
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    server.daemon_threads = True
    site.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        site.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
