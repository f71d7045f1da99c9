from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.download.errors import ByHandError, DownloadError, PassingError
from resources.download.network import Network, origin
from resources.download.policy import Policy, asked_wait_s
from resources.download.tokens import HUGGING_FACE, TOKENS, Token, public_address, redact
from tests.download.common import QUICK
from tests.download.site import Site, redirects, replies, whole

SECRET = "hf_planted0123456789"  # noqa: S105


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    return SECRET


def body(network: Network, url: str, token: Token | None = None) -> bytes:
    with network.open(url, token) as answer:
        return b"".join(answer.chunks())


def test_a_token_is_sent_to_its_host(site: Site, network: Network, planted: str) -> None:
    assert body(network, site.put("/a", whole(b"yes")), HUGGING_FACE) == b"yes"
    assert site.requests[0].headers["Authorization"] == f"Bearer {planted}"


def test_without_a_token_nothing_is_sent(site: Site, network: Network) -> None:
    body(network, site.put("/a", whole(b"yes")), HUGGING_FACE)
    assert "Authorization" not in site.requests[0].headers


def test_a_token_stays_with_its_host_through_redirects(site: Site, other_site: Site, network: Network, planted: str) -> None:
    elsewhere = other_site.put("/c", redirects(site.put("/d", whole(b"yes"))))
    url = site.put("/a", redirects("/b", status=307))
    site.put("/b", redirects(elsewhere))
    assert body(network, url, HUGGING_FACE) == b"yes"
    assert [bool(r.headers.get("Authorization")) for r in site.requests] == [True, True, False]
    assert "Authorization" not in other_site.requests[0].headers


def test_another_port_or_scheme_is_another_host() -> None:
    assert origin("https://a.org/x") == origin("https://a.org:443/y")
    assert len({origin(u) for u in ("https://a.org", "http://a.org", "https://a.org:444", "https://b.a.org")}) == 4


def test_passwords_of_a_netrc_file_are_not_sent(
    site: Site, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    body(network, site.put("/a", whole(b"yes")))
    assert "Authorization" not in site.requests[0].headers


def test_redirects_end(site: Site, network: Network) -> None:
    url = site.put("/a", redirects("/a"))
    with pytest.raises(DownloadError, match="more than 8 redirects"):
        body(network, url)
    assert len(site.requests) == QUICK.redirects + 1


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://a.org/x", "gopher://a.org"])
def test_redirects_lead_to_the_web_only(site: Site, network: Network, to: str) -> None:
    with pytest.raises(DownloadError, match="is not followed"):
        body(network, site.put("/a", redirects(to)))


def test_an_address_with_a_password_is_refused_and_not_shown(network: Network) -> None:
    with pytest.raises(DownloadError, match="holds a user name") as raised:
        body(network, "http://me:hidden@127.0.0.1:1/x")
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("url", ["http:///nohost", "http://[::1", "nonsense"])
def test_what_is_no_address_is_said_to_be_none(network: Network, url: str) -> None:
    with pytest.raises((DownloadError, ValueError)):
        body(network, url)


def test_a_refusal_says_which_variable_to_set(site: Site, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    url = site.put("/a", replies(401))
    with pytest.raises(ByHandError, match="put an access token into HF_TOKEN"):
        body(network, url, HUGGING_FACE)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with pytest.raises(ByHandError, match="the token in HF_TOKEN does not open it") as raised:
        body(network, url, HUGGING_FACE)
    assert SECRET not in str(raised.value)


def test_messages_hold_no_secret(planted: str) -> None:
    text = str(DownloadError(f"Bearer {planted}: https://u:p@b.s3.org/key?X-Amz-Signature=abc&q=1#f: 403"))
    assert text.startswith("Bearer ***: https://b.s3.org/key")
    assert not [secret for secret in (planted, "abc", "u:p") if secret in text]


@given(st.text(max_size=30), st.text(min_size=1, max_size=20))
def test_an_address_is_shown_without_what_grants_access(path: str, secret: str) -> None:
    mark = "Zq9" + "".join(letter for letter in secret if letter.isalnum())
    shown = public_address(f"https://user:{mark}@host.org/a?sig={mark}#{mark}")
    assert shown == "https://host.org/a"
    assert mark not in redact(f"{path} https://user:{mark}@host.org/a?sig={mark} failed")


def test_every_token_has_its_own_variable() -> None:
    assert len({token.variable for token in TOKENS}) == len(TOKENS)


def test_a_listing_is_json_with_pages(site: Site, network: Network) -> None:
    link = {"Link": '</a?page=2>; rel="next"'}
    site.put("/a", lambda handler, _: handler.reply(200, b'{"x": 1}', link))
    assert network.json(site.url("/a")) == ({"x": 1}, site.url("/a?page=2"))
    with pytest.raises(PassingError, match="no JSON"):
        network.json(site.put("/b", replies(200, b"<html>")))


def test_a_listing_without_end_is_refused(site: Site, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.download.network._LARGEST_LISTING", 1000)
    with pytest.raises(DownloadError, match="larger than 1000 bytes"):
        network.json(site.put("/a", replies(200, b" " * 2000)))


def test_no_request_is_made_after_stopping(site: Site) -> None:
    stopped = Network(QUICK, threading.Event())
    stopped.halt()
    with pytest.raises(DownloadError, match="stopped"):
        body(stopped, site.put("/a", whole(b"x")))
    assert not site.requests


def test_waits_double_to_a_limit() -> None:
    policy = Policy(first_wait_s=1, longest_wait_s=60)
    for failures, longest in ((1, 1), (2, 2), (3, 4), (7, 60), (1000, 60)):
        waits = [policy.wait_s(failures) for _ in range(50)]
        assert 0.75 * longest <= min(waits) <= max(waits) <= longest


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 59),
        ("Fri, 31 Dec 1999 23:00:00 GMT", 0),
        ("soon", None),
        ("\u00b2", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert asked_wait_s(header, now=datetime(1999, 12, 31, 23, 59, 0, tzinfo=UTC)) == seconds
