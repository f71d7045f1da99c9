"""A data root and downloads into it, as tests see them."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path
from typing import Any

from resources.download.folders import Folders
from resources.download.hosts.listing import Endpoints
from resources.download.run import Outcome
from resources.download.session import Options, Session
from resources.download.values import DatasetRequest, Published, Rule, SourceRequest
from tests.download.common import QUICK, Heard, files_below
from tests.download.site import Site

NOISE = random.Random(11)

A, B = NOISE.randbytes(5000), NOISE.randbytes(7000)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Desk:
    """A data root and a way to download into it, each time as a new process would."""

    def __init__(self, root: Path, site: Site) -> None:
        self.folders = Folders(root / "downloads" / "d", root / "raw" / "d")
        here = site.url("")
        self.endpoints = Endpoints(zenodo=here, hugging_face=here, figshare=here, synapse=here, github=here)

    def session(self, *sources: SourceRequest, heard: Heard | None = None, **options: Any) -> Session:
        dataset = DatasetRequest("d", "Dataset", "1", "CC-BY-4.0", "open", sources=sources)
        chosen = Options(policy=QUICK, endpoints=self.endpoints, **options)
        return Session(dataset, self.folders, heard or Heard(), chosen)

    def download(self, *sources: SourceRequest, accept: bool = True, **options: Any) -> list[Outcome]:
        session = self.session(*sources, **options)
        with session.alone():
            return session.run(session.plan(), accept=accept)

    def raw(self) -> dict[str, bytes]:
        return files_below(self.folders.raw) if self.folders.raw.exists() else {}

    def put(self, local: str, content: bytes) -> None:
        path = self.folders.here(local)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def states(outcomes: list[Outcome]) -> dict[str, str]:
    return {outcome.name: outcome.state for outcome in outcomes}


def http(url: str, *rules: Rule, **more: Any) -> SourceRequest:
    return SourceRequest("http", url, rules=rules, **more)


def named(name: str, content: bytes | None = None, **more: Any) -> Rule:
    published = Published(len(content), sha256=sha256(content)) if content is not None else Published()
    return Rule(name, re.compile(re.escape(name)), published=published, **more)
