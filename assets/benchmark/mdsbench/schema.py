"""Our JSON Schemas of the benchmark's two files, and validation against them.

They are written from the format's published facts: the fields of its templates, the evaluator's checks, and the values its
ground truths hold. Where the format leaves inner fields open, the schemas state what we write and read.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator

from assets.benchmark.mdsbench.values import JsonObject, shown

MAX_VIOLATIONS = 20


def record_violations(record: JsonObject) -> list[str]:
    """What is wrong with the form of one `standardized_annotations/<i>.json`; empty when nothing is."""
    return _violations("per_image.schema.json", record)


def metadata_violations(meta: JsonObject) -> list[str]:
    """What is wrong with the form of a `data_meta.json`; empty when nothing is."""
    return _violations("dataset.schema.json", meta)


@cache
def _validator(name: str) -> Draft202012Validator:
    schema: dict[str, Any] = json.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _violations(name: str, value: JsonObject) -> list[str]:
    found = []
    for error in _validator(name).iter_errors(value):
        where = "/".join(str(part) for part in error.absolute_path) or "(top)"
        found.append(f"{shown(where)[1:-1]}: {shown(error.instance)} breaks {error.validator} {shown(error.validator_value)}")
        if len(found) == MAX_VIOLATIONS:
            break
    return sorted(found)
