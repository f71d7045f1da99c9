"""Asking a model: what is sent, what is waited for, what is refused, and that the key goes nowhere."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assets.strategies.endpoint import Endpoint, EndpointError, Limits, endpoint, endpoint_from
from tests.strategies.fake_model import (
    KEY,
    FakeModel,
    Pauses,
    Script,
    completion,
    cut,
    drip,
    drip_headers,
    endless_body,
    fake_model,
    raw,
    says,
    stall,
    status,
)

QUESTION = [{"role": "user", "content": "what is this?"}]
QUICK = Limits(connect=2, silence=0.4, whole=0.8, attempts=3, first_pause=1, longest_pause=30)


def asking(server: FakeModel, pauses: Pauses | None = None) -> Endpoint:
    return replace(endpoint(server.url, "some-model", KEY, QUICK), pause=pauses or Pauses())


def test_a_good_answer_is_got_with_one_request_that_carries_the_key_in_its_header_alone() -> None:
    with fake_model(says("layout: {}")) as server:
        assert asking(server).ask(QUESTION) == "layout: {}"
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "some-model"
    assert KEY not in str(asked.body)


def test_without_a_key_no_authorization_is_sent_though_the_user_has_a_netrc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    with fake_model(says("x")) as server:
        endpoint(server.url, "m", "", QUICK).ask(QUESTION)
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (status(401), "MEDFOUNDRY_MODEL_KEY"),
        (status(403), "refuses the key"),
        (status(404), "MEDFOUNDRY_MODEL_URL"),
        (status(400, KEY.encode()), "status 400"),
        (raw(b"<html><title>Welcome</title></html>", "text/html"), "no JSON"),
        (raw(b'{"choices": []}'), "choices"),
        (raw(b'{"choices": [{"message": {"content": null}}]}'), "empty"),
        (raw(b'{"error": "x"}'), "choices"),
        (raw(b"[" * 100_000), "no JSON"),
        (says("   "), "empty"),
        (raw(gzip.compress(b"x" * 1000), Content_Encoding="gzip"), "compressed"),
        (endless_body, "more than"),
        (raw(b" " * 10_000_000), "more than"),
        (says({"a": 1}), "empty"),
        (raw(KEY.encode() * 2), "no JSON"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_at_once_and_says_what_to_do(script: Script, told: str) -> None:
    with fake_model(script) as server, pytest.raises(EndpointError, match=told) as caught:
        asking(server).ask(QUESTION)
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_what_is_refused_for_the_moment_is_asked_again_with_longer_and_longer_pauses(code: int) -> None:
    pauses = Pauses()
    with fake_model(status(code), status(code), says("now")) as server:
        assert asking(server, pauses).ask(QUESTION) == "now"
    assert pauses.seconds == [1, 2]
    with fake_model(status(code)) as server, pytest.raises(EndpointError, match=f"status {code}; asked 3 times"):
        asking(server).ask(QUESTION)
    assert len(server.asked) == 3


def test_a_pause_that_is_asked_for_is_kept_within_reason() -> None:
    pauses = Pauses()
    with fake_model(status(429, Retry_After="7"), says("now")) as server:
        assert asking(server, pauses).ask(QUESTION) == "now"
    assert pauses.seconds == [7]
    with fake_model(status(429, Retry_After="86400")) as server, pytest.raises(EndpointError, match="86400 s"):
        asking(server).ask(QUESTION)
    assert len(server.asked) == 1
    pauses = Pauses()
    with fake_model(status(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), says("now")) as server:
        assert asking(server, pauses).ask(QUESTION) == "now"
    assert pauses.seconds == [1]


@pytest.mark.parametrize(
    ("script", "told"), [(drip, "did not finish"), (drip_headers, "did not finish|in time"), (stall, "in time")]
)
def test_nothing_is_waited_for_without_an_end(script: Script, told: str) -> None:
    started = time.monotonic()
    with fake_model(script) as server, pytest.raises(EndpointError, match=told):
        replace(asking(server), limits=replace(QUICK, attempts=1)).ask(QUESTION)
    assert time.monotonic() - started < 8


def test_a_connection_that_breaks_is_tried_again() -> None:
    with fake_model(cut, says("whole")) as server:
        assert asking(server).ask(QUESTION) == "whole"
    with fake_model(cut) as server, pytest.raises(EndpointError, match=r"broke off.*asked 3 times"):
        asking(server).ask(QUESTION)


def test_a_redirect_is_not_followed_and_the_key_reaches_nobody_else() -> None:
    with fake_model(says("stolen")) as other, fake_model(status(307, Location=f"{other.url}/chat/completions")) as server:
        with pytest.raises(EndpointError, match="not followed"):
            asking(server).ask(QUESTION)
        assert other.asked == []


def test_no_proxy_comes_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_model(says("stolen")) as proxy, fake_model(says("mine")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        assert asking(server).ask(QUESTION) == "mine"
        assert proxy.asked == []


def test_nobody_listens() -> None:
    with fake_model(says("x")) as server:
        gone = asking(server)
    with pytest.raises(EndpointError, match="cannot be reached"):
        gone.ask(QUESTION)


def test_nothing_is_configured_unless_an_address_is() -> None:
    assert endpoint_from({}) is None
    assert endpoint_from({"MEDFOUNDRY_MODEL_KEY": KEY, "MEDFOUNDRY_MODEL_NAME": "m"}) is None


@pytest.mark.parametrize(
    ("url", "model", "key", "told"),
    [
        ("ftp://host/v1", "m", "", "no address"),
        ("https://", "m", "", "no address"),
        ("https://host:port/v1", "m", "", "no address"),
        ("https://me:pass@host/v1", "m", "", "more than host and path"),
        (f"https://host/v1?key={KEY}", "m", "", "more than host and path"),
        ("https://host/v1", "", "", "MEDFOUNDRY_MODEL_NAME"),
        ("https://host/v1", "m", f"{KEY}\nX-Other: 1", "no key has"),
        ("https://host/v1", "m", f"{KEY}ü", "no key has"),
        ("http://example.org/v1", "m", KEY, "in the clear"),
    ],
)
def test_an_address_or_key_that_would_do_harm_is_refused(url: str, model: str, key: str, told: str) -> None:
    with pytest.raises(EndpointError, match=told) as caught:
        endpoint(url, model, key)
    assert KEY not in str(caught.value)


def test_the_key_is_not_shown_by_the_object_that_holds_it() -> None:
    found = endpoint("https://host/v1/chat/completions", "m", KEY)
    assert KEY not in repr(found)
    assert found.url == "https://host/v1/chat/completions"


def test_an_answer_that_repeats_the_key_loses_it() -> None:
    with fake_model(raw(completion(f"your key is {KEY}"))) as server:
        assert asking(server).ask(QUESTION) == "your key is [key]"
