from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from resources.download.errors import ByHandError, DownloadError
from resources.download.hosts import addresses, figshare, huggingface, synapse, zenodo
from resources.download.hosts.listing import Asker, Endpoints
from resources.download.network import Network
from resources.download.tokens import GRAND_CHALLENGE, HUGGING_FACE
from resources.download.transfer import fetch
from resources.download.values import Published, Rule, SourceRequest
from tests.download.common import Heard
from tests.download.site import Site, replies, whole

MD5 = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def asker(site: Site, network: Network, heard: Heard) -> Asker:
    here = site.url("")
    return Asker(network, heard, Endpoints(zenodo=here, hugging_face=here, figshare=here, synapse=here, github=here))


def document(content: Any, link: str = "") -> Any:
    return replies(200, json.dumps(content).encode(), Content_Type="application/json", Link=link)


def source(kind: str, identity: str, **more: Any) -> SourceRequest:
    return SourceRequest(kind, identity, **more)


@pytest.mark.parametrize("identity", ["7262581", "10.5281/zenodo.7262581", "https://zenodo.org/records/7262581"])
def test_zenodo_gives_sizes_and_md5(site: Site, asker: Asker, identity: str) -> None:
    url = site.url("/api/records/7262581/files/amos22.zip/content")
    entry = {"key": "amos22.zip", "size": 24_000_000_000, "checksum": f"md5:{MD5.upper()}", "links": {"self": url}}
    site.put("/api/records/7262581", document({"metadata": {"access_right": "open"}, "files": [entry]}))
    (found,) = zenodo.files(source("zenodo", identity), asker)
    assert (found.name, found.url, found.published) == ("amos22.zip", url, Published(24_000_000_000, md5=MD5))


def test_a_restricted_record_is_for_a_person(site: Site, asker: Asker) -> None:
    site.put("/api/records/1", document({"metadata": {"access_right": "restricted"}}))
    with pytest.raises(ByHandError, match=r"shows no files \(access: restricted\)"):
        zenodo.files(source("zenodo", "1"), asker)


@pytest.mark.parametrize(
    "content", [{"files": [{"key": "a"}]}, {"files": ["a"]}, {"files": [{"key": 1, "links": {"self": "x"}}]}]
)
def test_a_listing_of_another_shape_is_said_to_be_one(site: Site, asker: Asker, content: Any) -> None:
    site.put("/api/records/1", document(content))
    with pytest.raises(DownloadError, match="interface may have changed"):
        zenodo.files(source("zenodo", "1"), asker)


def test_a_token_does_not_follow_an_address_to_another_host(site: Site, asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENODO_TOKEN", "planted-zenodo-token")
    entry = {"key": "a", "size": 1, "links": {"self": "https://elsewhere.org/a"}}
    site.put("/api/records/1", document({"files": [entry, {**entry, "links": {"self": site.url("/a")}}]}))
    assert [file.token is None for file in zenodo.files(source("zenodo", "1"), asker)] == [True, False]


COMMIT = "9680c15fcce821bbaff00f939e56a1e805267006"


def hugging_face(site: Site, repository: str, revision: str = "main") -> None:
    api = f"/api/{repository}"
    site.put(f"{api}/revision/{revision}", document({"sha": COMMIT}))
    large = {"type": "file", "path": "images/case 1.nii.gz", "oid": "1" * 40, "size": 5, "lfs": {"oid": "a" * 64, "size": 5}}
    small = {"type": "file", "path": "README.md", "oid": "ce013625030ba8dba906f756967f9e9ca394464a", "size": 6}
    folder = {"type": "directory", "path": "images", "oid": "2" * 40, "size": 0}
    following = f'<{site.url(f"{api}/tree/{COMMIT}?recursive=true&cursor=x")}>; rel="next"'
    site.put(f"{api}/tree/{COMMIT}?recursive=true", document([folder, large], link=following))
    site.put(f"{api}/tree/{COMMIT}?recursive=true&cursor=x", document([small]))


def test_hugging_face_is_listed_at_one_commit_with_its_checksums(site: Site, asker: Asker) -> None:
    hugging_face(site, "datasets/owner/name")
    large, small = huggingface.files(source("huggingface", "owner/name"), asker)
    assert large.url == site.url(f"/datasets/owner/name/resolve/{COMMIT}/images/case%201.nii.gz")
    assert large.published == Published(5, sha256="a" * 64)
    assert small.published == Published(6, git_sha1="ce013625030ba8dba906f756967f9e9ca394464a")
    assert {file.token for file in (large, small)} == {HUGGING_FACE}


def test_hugging_face_takes_a_revision_and_models(site: Site, asker: Asker) -> None:
    hugging_face(site, "models/owner/name", "v1")
    files = huggingface.files(source("huggingface", "models/owner/name", revision="v1"), asker)
    assert files[0].url == site.url(f"/owner/name/resolve/{COMMIT}/images/case%201.nii.gz")


def test_a_small_file_of_hugging_face_is_proven_by_gits_id(
    site: Site, asker: Asker, tmp_path: Path, network: Network, heard: Heard
) -> None:
    hugging_face(site, "datasets/owner/name")
    file = huggingface.files(source("huggingface", "owner/name"), asker)[1]
    site.put(urlsplit(file.url).path, whole(b"hello\n"))
    assert fetch(file, tmp_path / "a.part", network, heard).proof == ("git_sha1", "size")


def test_a_gated_repository_is_for_a_person(site: Site, asker: Asker) -> None:
    site.put("/api/datasets/owner/name/revision/main", replies(401))
    with pytest.raises(ByHandError, match="HF_TOKEN"):
        huggingface.files(source("huggingface", "owner/name"), asker)


def test_a_page_of_another_host_gets_no_token(
    site: Site, other_site: Site, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "planted-hf-token")
    site.put("/api/datasets/o/n/revision/main", document({"sha": COMMIT}))
    site.put(f"/api/datasets/o/n/tree/{COMMIT}", document([], link=f'<{other_site.url("/x")}>; rel="next"'))
    other_site.put("/x", document([]))
    huggingface.files(source("huggingface", "o/n"), asker)
    assert "Authorization" in site.requests[-1].headers
    assert "Authorization" not in other_site.requests[0].headers


@pytest.mark.parametrize("identity", ["1512427", "10.6084/m9.figshare.1512427", "10.6084/m9.figshare.1512427.v5"])
def test_figshare_gives_sizes_and_md5_page_by_page(site: Site, asker: Asker, identity: str) -> None:
    def page(handler: Any, request: Any) -> None:
        asked = parse_qs(urlsplit(request.path).query)
        start = (int(asked["page"][0]) - 1) * int(asked["page_size"][0])
        listed = [{"name": f"{n}.zip", "size": n, "computed_md5": MD5, "download_url": f"https://f.org/{n}"} for n in range(130)]
        handler.reply(200, json.dumps(listed[start : start + int(asked["page_size"][0])]).encode())

    site.put("/v2/articles/1512427/files", page)
    found = figshare.files(source("figshare", identity), asker)
    assert [file.name for file in found] == [f"{n}.zip" for n in range(130)]
    assert found[7].published == Published(7, md5=MD5)
    assert found[7].token is None


def synapse_tree(site: Site) -> None:
    kind = "org.sagebionetworks.repo.model."
    site.put("/repo/v1/entity/syn1", document({"concreteType": f"{kind}Folder"}))

    def children(handler: Any, request: Any) -> None:
        asked = json.loads(request.body)
        tree = {
            ("syn1", None): ([{"id": "syn2", "name": "a", "type": f"{kind}Folder"}], "more"),
            ("syn1", "more"): ([{"id": "syn4", "name": "entity", "type": f"{kind}FileEntity"}], None),
            ("syn2", None): ([{"id": "syn3", "name": "entity", "type": f"{kind}FileEntity"}], None),
        }
        listed, following = tree[asked["parentId"], asked["nextPageToken"]]
        handler.reply(200, json.dumps({"page": listed, "nextPageToken": following}).encode())

    site.put("/repo/v1/entity/children", children)
    for number in (3, 4):
        preview = {"concreteType": f"{kind}file.PreviewFileHandle", "fileName": "p.png", "contentSize": 1}
        handle = {"concreteType": f"{kind}file.S3FileHandle", "fileName": f"{number}.zip", "contentSize": 9, "contentMd5": MD5}
        site.put(f"/repo/v1/entity/syn{number}/filehandles", document({"list": [preview, handle]}))


def test_synapse_is_listed_below_a_folder(site: Site, asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNAPSE_AUTH_TOKEN", "planted-synapse-token")
    synapse_tree(site)
    found = synapse.files(source("synapse", "syn1"), asker)
    assert {file.name: file.url for file in found} == {
        "a/3.zip": site.url("/repo/v1/entity/syn3/file"), "4.zip": site.url("/repo/v1/entity/syn4/file"),
    }  # fmt: skip
    assert {file.published for file in found} == {Published(9, md5=MD5)}
    assert {request.headers["Authorization"] for request in site.requests} == {"Bearer planted-synapse-token"}


def test_synapse_without_a_token_is_for_a_person(site: Site, asker: Asker) -> None:
    with pytest.raises(ByHandError, match="SYNAPSE_AUTH_TOKEN"):
        synapse.files(source("synapse", "syn1"), asker)
    assert not site.requests


def test_a_version_of_a_synapse_file(site: Site, asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNAPSE_AUTH_TOKEN", "planted-synapse-token")
    site.put("/repo/v1/entity/syn3", document({"concreteType": "org.sagebionetworks.repo.model.FileEntity"}))
    site.put("/repo/v1/entity/syn3/version/2/filehandles", document({"list": [{"fileName": "x", "contentSize": 1}]}))
    (file,) = synapse.files(source("synapse", "syn3", revision="2"), asker)
    assert file.url == site.url("/repo/v1/entity/syn3/version/2/file")


@pytest.mark.parametrize(
    ("identity", "rules", "urls"),
    [
        ("https://a.org/x/b%20c.tar?d=1", [], {"b c.tar": "https://a.org/x/b%20c.tar?d=1"}),
        ("https://a.org/x", [Rule("b c.zip")], {"b c.zip": "https://a.org/x/b%20c.zip"}),
        ("https://a.org/x/", [Rule("b/c.zip"), Rule("d")], {"b/c.zip": "https://a.org/x/b/c.zip", "d": "https://a.org/x/d"}),
        ("https://a.org/b.zip", [Rule("b.zip")], {"b.zip": "https://a.org/b.zip"}),
        ("https://a.org", [Rule("b.zip", url="https://c.org/1?x")], {"b.zip": "https://c.org/1?x"}),
    ],
)
def test_addresses_are_the_sources_or_the_files(asker: Asker, identity: str, rules: list[Rule], urls: dict[str, str]) -> None:
    found = addresses.http(source("http", identity, rules=tuple(rules)), asker)
    assert {file.name: file.url for file in found} == urls


@pytest.mark.parametrize(("identity", "rules"), [("https://a.org/", ()), ("https://a.org/x", (Rule("*.zip"),))])
def test_what_cannot_be_listed_must_be_named(asker: Asker, identity: str, rules: tuple[Rule, ...]) -> None:
    with pytest.raises(DownloadError, match=r"named|name it"):
        addresses.http(source("http", identity, rules=rules), asker)


@pytest.mark.parametrize(
    "identity", ["neheller/kits23", "https://github.com/neheller/kits23", "https://github.com/neheller/kits23.git"]
)
def test_a_repository_on_github_comes_as_an_archive(asker: Asker, site: Site, identity: str) -> None:
    (file,) = addresses.github(source("git", identity), asker)
    assert (file.name, file.url) == ("kits23-HEAD.tar.gz", site.url("/neheller/kits23/tar.gz/HEAD"))
    (file,) = addresses.github(source("git", identity, revision="refs/tags/v1"), asker)
    assert (file.name, file.url) == ("kits23-refs-tags-v1.tar.gz", site.url("/neheller/kits23/tar.gz/refs/tags/v1"))


def test_a_repository_elsewhere_is_for_a_person(asker: Asker) -> None:
    with pytest.raises(ByHandError):
        addresses.github(source("git", "https://gitlab.org/a/b"), asker)


def test_a_host_without_an_interface_is_for_a_person_unless_addresses_are_given(asker: Asker) -> None:
    for kind in ("google_drive", "tcia", "kaggle", "other", "grand_challenge"):
        with pytest.raises(ByHandError):
            addresses.given(source(kind, "x"), asker)
    rules = (Rule("a", url="https://grand-challenge.org/api/a"), Rule("b", url="https://evil.org/grand-challenge.org"))
    found = addresses.given(source("grand_challenge", "x", rules=rules), asker)
    assert [file.token for file in found] == [GRAND_CHALLENGE, None]


def test_a_listing_is_asked_for_again_when_the_host_is_busy(site: Site, asker: Asker) -> None:
    busy = document({"files": [{"key": "a", "size": 1, "links": {"self": "https://a.org"}}]})
    site.put("/api/records/1", replies(503), replies(429), busy)
    assert len(zenodo.files(source("zenodo", "1"), asker)) == 1


def test_hugging_face_may_be_asked_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.org/")
    assert Endpoints().hugging_face == "https://mirror.org"
