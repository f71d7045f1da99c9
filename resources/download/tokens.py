"""Access tokens: taken from environment variables, sent in one header, and never written, shown or logged."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

_ADDRESS = re.compile(r"https?://[^\s'\"<>()\[\]{}]+")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Token:
    """Which token a host takes; the value itself is held nowhere but in the environment.

    Attributes:
        variable: Environment variable that holds it.
        scheme: What stands before it in the `Authorization` header.
    """

    variable: str
    scheme: str = "Bearer"

    @property
    def is_set(self) -> bool:
        """Whether the environment has it."""
        return bool(_value(self.variable))

    def header(self) -> str | None:
        """Value of the `Authorization` header, or None where the variable is not set."""
        value = _value(self.variable)
        return f"{self.scheme} {value}" if value else None


HUGGING_FACE = Token("HF_TOKEN")
SYNAPSE = Token("SYNAPSE_AUTH_TOKEN")
GRAND_CHALLENGE = Token("GRAND_CHALLENGE_TOKEN")
ZENODO = Token("ZENODO_TOKEN")
FIGSHARE = Token("FIGSHARE_TOKEN", scheme="token")

TOKENS = (HUGGING_FACE, SYNAPSE, GRAND_CHALLENGE, ZENODO, FIGSHARE)


def _value(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def public_address(url: str) -> str:
    """An address without what may grant access: user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def redact(text: str) -> str:
    """A text in which no token stands and every address is public."""
    for token in TOKENS:
        if value := _value(token.variable):
            text = text.replace(value, _HIDDEN)
    return _ADDRESS.sub(lambda found: public_address(found[0]), text)
