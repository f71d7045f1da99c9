"""Asks a language model behind an OpenAI-compatible endpoint, without trusting what answers.

One question is one POST. Redirects are not followed, so that the key goes nowhere else; the answer is bounded in size and time,
also where it trickles; what is refused for the moment is asked again a few times. The key appears in no message.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError, ReadTimeoutError

URL_VARIABLE, NAME_VARIABLE, KEY_VARIABLE = "MEDFOUNDRY_MODEL_URL", "MEDFOUNDRY_MODEL_NAME", "MEDFOUNDRY_MODEL_KEY"

MOST_BYTES = 512 * 1024
"""Of an answer, the JSON around it included."""

_PATH = "/chat/completions"
_LATER = frozenset((408, 425, 429, 500, 502, 503, 504))
_CHUNK = 2048

Message = Mapping[str, str]
"""`role` and `content` of one turn."""


class EndpointError(Exception):
    """No answer was got; the message says why and what to do, in one line, without the key."""


class _LaterError(Exception):
    """The endpoint may answer when it is asked again."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True)
class Limits:
    """How long is waited, in seconds, and how often it is asked.

    Attributes:
        connect: For a connection.
        silence: Between two parts of an answer.
        whole: For one answer from the question to its end.
        attempts: How often a question is asked.
        first_pause: Before the second time; every further pause is twice as long.
        longest_pause: The longest that an endpoint may ask for, or a pause may grow to.
    """

    connect: float = 10.0
    silence: float = 120.0
    whole: float = 300.0
    attempts: int = 4
    first_pause: float = 1.0
    longest_pause: float = 30.0


@dataclass(frozen=True)
class Endpoint:
    """A model that can be asked.

    Attributes:
        url: Of the chat completions.
        model: Its name there.
        key: Sent as a bearer token; none where it is empty.
        limits: How long is waited.
        pause: What waits between two attempts.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    limits: Limits = Limits()
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def ask(self, messages: Sequence[Message], *, temperature: float = 0.0, seed: int = 0) -> str:
        """The text of the model's answer.

        Raises:
            EndpointError: There is none.
        """
        body = {"model": self.model, "messages": list(messages), "temperature": temperature, "seed": seed, "stream": False}
        wait = self.limits.first_pause
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return self._safe(_text_of(self._within_time(body)))
            except _LaterError as error:
                if attempt == self.limits.attempts:
                    raise EndpointError(self._safe(f"{error}; asked {attempt} times, try again later")) from None
                if error.wait is not None and error.wait > self.limits.longest_pause:
                    raise EndpointError(self._safe(f"{error}; it asks to wait {error.wait:g} s, try again then")) from None
                self.pause(min(error.wait if error.wait is not None else wait, self.limits.longest_pause))
                wait *= 2
            except EndpointError as error:
                raise EndpointError(self._safe(str(error))) from None
        raise EndpointError("the endpoint was never asked; `attempts` must be 1 or more")

    def _safe(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def _within_time(self, body: Mapping[str, Any]) -> bytes:
        """The body of one answer; a thread that still waits when the time is over is left behind and ends by itself."""
        got: list[bytes | Exception] = []

        def work() -> None:
            try:
                got.append(self._post(body))
            except (EndpointError, _LaterError) as error:
                got.append(error)

        thread = threading.Thread(target=work, name="model", daemon=True)
        thread.start()
        thread.join(self.limits.whole + 1)
        if not got:
            raise EndpointError(f"{self.where} did not finish its answer within {self.limits.whole:g} s; use a quicker model")
        if isinstance(got[0], Exception):
            raise got[0]
        return got[0]

    def _post(self, body: Mapping[str, Any]) -> bytes:
        limits, started = self.limits, time.monotonic()
        session = requests.Session()
        session.trust_env = not is_this_machine(urlsplit(self.url).hostname or "")  # no proxy between this machine and itself
        try:
            with (
                session,
                session.post(
                    self.url,
                    json=body,
                    auth=_Bearer(self.key),
                    headers={"Accept-Encoding": "identity"},
                    timeout=(limits.connect, min(limits.silence, limits.whole)),
                    stream=True,
                    allow_redirects=False,
                ) as response,
            ):
                self._judge(response)
                return self._read(response, started)
        except (requests.Timeout, ReadTimeoutError):
            raise _LaterError(f"{self.where} did not answer in time") from None
        except requests.exceptions.SSLError:
            raise EndpointError(f"the certificate of {self.where} does not hold; check the address") from None
        except (requests.RequestException, HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise _LaterError(f"{self.where} cannot be reached or broke off ({type(error).__name__})") from None

    def _judge(self, response: requests.Response) -> None:
        """Refuse what is no answer, by its status."""
        status = response.status_code
        if status in (401, 403):
            raise EndpointError(f"{self.where} refuses the key (status {status}); set {KEY_VARIABLE} to one that it knows")
        if status == 404:
            raise EndpointError(f"{self.where} has no such page or no model {self.model!r} (404); check {URL_VARIABLE}")
        if 300 <= status < 400:
            raise EndpointError(
                f"{self.where} sends on to another place (status {status}), which is not followed; name that place"
            )
        if status in _LATER:
            raise _LaterError(f"{self.where} answers with status {status}", _retry_after(response.headers.get("Retry-After", "")))
        if status != 200:
            raise EndpointError(f"{self.where} answers with status {status}, not with a completion")

    def _read(self, response: requests.Response, started: float) -> bytes:
        content = bytearray()
        limit = f"{self.where} sends more than {MOST_BYTES} bytes, which is no draft of a spec"
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise EndpointError(f"{self.where} sends a compressed answer, which it was asked not to")
        while part := response.raw.read1(_CHUNK, decode_content=False):
            content += part
            if len(content) > MOST_BYTES:
                raise EndpointError(limit)
            if time.monotonic() - started > self.limits.whole:
                raise EndpointError(f"{self.where} did not finish its answer within {self.limits.whole:g} s; use a quicker model")
        return bytes(content)

    @property
    def where(self) -> str:
        """The endpoint as messages call it: its host alone."""
        return f"the model's endpoint at {urlsplit(self.url).netloc}"


def endpoint(url: str, model: str, key: str, limits: Limits = Limits()) -> Endpoint:
    """An endpoint.

    Args:
        url: Of the chat completions, or what stands before `/chat/completions`, such as `https://host/v1`.
        model: Name of the model.
        key: Secret; empty for none.
        limits: How long is waited.

    Raises:
        EndpointError: The address is none, holds a password, or would carry the key in the clear; the key cannot be sent.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise EndpointError(f"{URL_VARIABLE} is no address; write https://host/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise EndpointError(f"{URL_VARIABLE} is no address; write https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(f"{URL_VARIABLE} holds more than host and path; a key belongs into {KEY_VARIABLE}")
    if not model:
        raise EndpointError(f"{URL_VARIABLE} is set but not {NAME_VARIABLE}; set it to the name of the model to ask")
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise EndpointError(f"{KEY_VARIABLE} has blanks, line ends or signs that no key has; set it anew")
    if key and parts.scheme == "http" and not is_this_machine(host):
        raise EndpointError(f"the key would travel in the clear to {host}; use https, or leave {KEY_VARIABLE} empty")
    path = parts.path.rstrip("/")
    return Endpoint(f"{parts.scheme}://{parts.netloc}{path if path.endswith(_PATH) else path + _PATH}", model, key, limits)


def endpoint_from(environment: Mapping[str, str] = os.environ, url: str = "", model: str = "") -> Endpoint | None:
    """The endpoint that the user configured; None where none is, and then nothing is ever asked.

    Args:
        environment: The variables.
        url: Instead of the variable.
        model: Instead of the variable.

    Raises:
        EndpointError: What is configured cannot be used.
    """
    url, model = url or environment.get(URL_VARIABLE, ""), model or environment.get(NAME_VARIABLE, "")
    return endpoint(url, model, environment.get(KEY_VARIABLE, "")) if url else None


class _Bearer(AuthBase):
    """Sends the key, and keeps `requests` from looking for another one in the user's `.netrc`."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def is_this_machine(host: str) -> bool:
    """Whether what is sent to a host stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _retry_after(text: str) -> float | None:
    """Seconds; None for a date or anything else."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def _text_of(body: bytes) -> str:
    """The text of the first choice of a completion."""
    try:
        content = json.loads(body)
        text = content["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        start = " ".join(body[:60].decode("utf-8", "replace").split())
        raise EndpointError(f"the endpoint's answer is no JSON (it begins {start!r}); check {URL_VARIABLE}") from None
    except (LookupError, TypeError):
        raise EndpointError("the endpoint's answer has no choices[0].message.content; is it OpenAI-compatible?") from None
    if not isinstance(text, str) or not text.strip():
        raise EndpointError("the model's answer is empty")
    return text
