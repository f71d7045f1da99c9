"""Drafts by a language model: asked only where the user configured one, and taken as data of a stranger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assets.inspect import Inspection
from assets.inspect.listing import list_folder
from assets.strategies.answer import UnusableAnswerError, read_answer
from assets.strategies.drafts import Draft, loaded
from assets.strategies.endpoint import Endpoint, EndpointError, Message
from assets.strategies.prompt import once_more, question

_WARMTH = 0.7
"""Temperature of every question but the first, so that answers differ."""


@dataclass
class Model:
    """A model that is asked about one folder.

    Attributes:
        endpoint: Where it is.
        found: What inspection found in the folder.
        remarks: What was left out of its answers, and why there are none.
    """

    endpoint: Endpoint
    found: Inspection
    remarks: list[str] = field(default_factory=list)
    _answers: dict[str, str] = field(default_factory=dict)

    def drafts(self, count: int) -> list[Draft]:
        """Up to so many drafts; equal ones once. Why there are fewer is among the remarks."""
        drafts: list[Draft] = []
        for number in range(1, count + 1):
            name = f"model {number}"
            try:
                draft = self._asked(name, question(self.found), 0.0 if number == 1 else _WARMTH, number)
            except EndpointError as error:
                self.remarks.append(f"{name}: {error}")
                break
            except UnusableAnswerError as error:
                self.remarks.append(f"{name}: {error}; the other drafts go on")
                continue
            if any(draft.spec == other.spec for other in drafts):
                self.remarks.append(f"{name}: it says the same as an earlier one")
            else:
                drafts.append(draft)
        return drafts

    def corrected(self, draft: Draft, contradictions: Sequence[str]) -> Draft:
        """What the model says when it is told what is wrong with its draft; the draft itself where that cannot be used."""
        asked = once_more(question(self.found), self._answers[draft.name], contradictions)
        try:
            return self._asked(draft.name, asked, 0.0, 0)
        except (EndpointError, UnusableAnswerError) as error:
            self.remarks.append(f"{draft.name}, asked once more: {error}; its first answer stands")
            return draft

    def _asked(self, name: str, messages: Sequence[Message], temperature: float, seed: int) -> Draft:
        text = self.endpoint.ask(messages, temperature=temperature, seed=seed)
        names = list_folder(self.found.root).paths
        content, task, remarks = read_answer(text, names, self.endpoint.key)
        self._answers[name] = text
        self.remarks += [f"{name}: {remark}" for remark in remarks]
        return loaded(name, "model", content, f"what {self.endpoint.model} answers", task=task)
