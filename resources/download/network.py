"""Requests as this package makes them: redirects followed by hand, a token sent to its own host alone, every failure named.

`requests` would add passwords from a `.netrc` file and decode compressed bodies; both are kept out.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.auth import AuthBase

from resources.download.errors import ByHandError, DownloadError, PassingError, StoppedError
from resources.download.policy import Policy, asked_wait_s
from resources.download.tokens import Token, public_address

_CHUNK = 256 << 10
_LARGEST_LISTING = 64 << 20
_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {408, 425, 429, 500, 502, 503, 504}
_USER_AGENT = "medfoundry"


class _Header(AuthBase):
    """Sets the `Authorization` header to what it is told, if anything."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._value:
            request.headers["Authorization"] = self._value
        return request


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answered: 200, 206 or 416, after all redirects.

    Attributes:
        status: HTTP status.
        headers: Its headers; names in any case.
        response: The open response.
        address: Public form of the address that answered.
    """

    status: int
    headers: Mapping[str, str]
    response: requests.Response
    address: str

    def chunks(self) -> Iterator[bytes]:
        """The body as it arrives and as it is sent, undecoded.

        Raises:
            PassingError: The connection broke or fell silent.
        """
        while True:
            try:
                chunk = self.response.raw.read1(_CHUNK, decode_content=False)
            except urllib3.exceptions.ReadTimeoutError:
                raise PassingError(f"{self.address}: nothing arrived for too long") from None
            except urllib3.exceptions.HTTPError as error:
                raise PassingError(f"{self.address}: the connection broke ({type(error).__name__})") from None
            if not chunk:
                return
            yield chunk


class Network:
    """Opens addresses. One session per thread.

    Attributes:
        policy: Limits of patience.
        stop: Set by whoever wants everything to end.
    """

    def __init__(self, policy: Policy, stop: threading.Event) -> None:
        self.policy = policy
        self.stop = stop
        self._local = threading.local()
        self._open: set[requests.Response] = set()
        logging.getLogger("urllib3.connectionpool").addFilter(_is_public)

    @contextmanager
    def open(
        self, url: str, token: Token | None = None, headers: Mapping[str, str] | None = None, body: object = None
    ) -> Iterator[Answer]:
        """Ask for an address; with a `body`, by POST and as JSON.

        Raises:
            PassingError: The host cannot be reached or is busy.
            ByHandError: It wants to know who is asking, or refuses who asks.
            DownloadError: Anything else that is not the file.
        """
        response, address = self._follow(url, token, headers or {}, body)
        self._open.add(response)
        try:
            self._judge(response, address, token, moved=origin(address) != origin(url))
            yield Answer(response.status_code, response.headers, response, address)
        finally:
            self._open.discard(response)
            response.close()

    def halt(self) -> None:
        """End everything: no new request is made, and open connections end as if their hosts had closed them."""
        self.stop.set()
        for response in list(self._open):
            with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
                response.raw.shutdown()

    def json(self, url: str, token: Token | None = None, body: object = None) -> tuple[Any, str | None]:
        """The JSON document at an address, and the address of its next page if it has one.

        Raises:
            DownloadError: As `open`; or the answer is no JSON, or larger than 64 MiB.
        """
        with self.open(url, token, {"Accept": "application/json"}, body) as answer:
            text = bytearray()
            for chunk in answer.chunks():
                text += chunk
                if len(text) > _LARGEST_LISTING:
                    raise DownloadError(f"{answer.address}: the listing is larger than {_LARGEST_LISTING} bytes")
            following = answer.response.links.get("next", {}).get("url")
            try:
                return json.loads(text), urljoin(url, following) if following else None
            except ValueError:
                raise PassingError(f"{answer.address}: the answer is no JSON") from None

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
            session.headers.update({"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"})
        return session

    def _follow(self, url: str, token: Token | None, headers: Mapping[str, str], body: object) -> tuple[requests.Response, str]:
        authorization = token.header() if token else None
        here = url
        for _ in range(self.policy.redirects + 1):
            if self.stop.is_set():
                raise StoppedError("stopped")
            response = self._request(here, authorization, headers, body)
            if response.status_code not in _REDIRECTS or "Location" not in response.headers:
                return response, here
            response.close()
            there = urljoin(here, response.headers["Location"])
            _check_move(here, there)
            if origin(there) != origin(here):
                authorization = None
            here, body = there, None if response.status_code == 303 else body
        raise DownloadError(f"{url}: more than {self.policy.redirects} redirects, the last to {here}")

    def _request(self, url: str, authorization: str | None, headers: Mapping[str, str], body: object) -> requests.Response:
        if urlsplit(url).username:
            raise DownloadError(f"{url}: the address holds a user name; tokens are read from environment variables alone")
        shown = public_address(url)
        try:
            return self._session().request(
                "GET" if body is None else "POST",
                url,
                headers=dict(headers),
                json=body,
                auth=_Header(authorization),
                timeout=(self.policy.connect_s, self.policy.silence_s),
                allow_redirects=False,
                stream=True,
            )
        except requests.exceptions.SSLError:
            raise DownloadError(
                f"{shown}: the host's certificate is not trusted; set REQUESTS_CA_BUNDLE if your network has its own authority"
            ) from None
        except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
            raise PassingError(f"{shown}: the host cannot be reached ({type(error).__name__})") from None
        except (requests.exceptions.RequestException, ValueError) as error:
            raise DownloadError(f"{shown}: this cannot be asked for ({type(error).__name__})") from None

    def _judge(self, response: requests.Response, address: str, token: Token | None, *, moved: bool) -> None:
        status = response.status_code
        if status in {200, 206, 416}:
            return
        if status in {401, 403}:
            if moved:
                raise PassingError(f"{address}: refused with {status}; a link that expires is asked for again")
            raise ByHandError(f"{address}: refused with {status}; {_what_to_show(token)}")
        if status in _BUSY:
            raise self._busy(address, status, response.headers.get("Retry-After"))
        gone = "there is no such file; the dataset may have moved, see its homepage" if status in {404, 410} else "unexpected"
        raise DownloadError(f"{address}: {status}, {gone}")

    def _busy(self, address: str, status: int, header: str | None) -> DownloadError:
        asked = asked_wait_s(header)
        if asked is not None and asked > self.policy.longest_asked_s:
            return DownloadError(f"{address}: {status}, the host asks to come back in {asked:.0f} s; run the command again then")
        return PassingError(f"{address}: {status}, the host is busy", wait_s=asked)


def _is_public(record: logging.LogRecord) -> bool:
    """Whether a line of the library's log may be written: its lines for debugging hold whole addresses, signatures included."""
    return record.levelno > logging.DEBUG


def _what_to_show(token: Token | None) -> str:
    if token is None:
        return "it is not open to everyone; see the dataset's homepage for how to get access"
    if token.is_set:
        return f"the token in {token.variable} does not open it: accept the dataset's terms with that account, or renew the token"
    return f"accept the dataset's terms with your account there and put an access token into {token.variable}"


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of an address: what a token is for."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _check_move(here: str, there: str) -> None:
    old, new = urlsplit(here).scheme, urlsplit(there).scheme
    if new not in {"http", "https"} or (old, new) == ("https", "http"):
        raise DownloadError(f"{here}: redirects from {old} to {new}, which is not followed")
