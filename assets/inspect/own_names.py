"""What is said of people where nothing but their names tells images apart: what is true of all images of the draft."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from assets.inspect.layout import Plan
from assets.inspect.patterns import read
from assets.inspect.subjects import OWN_NAMES


def with_true_names(planned: Plan) -> Plan:
    """The plan without saying that images have names of their own where they have folders of their own, or share a subject.

    Whether they do is known once all series are, as `7/left` and `7/right` become two series of the subject 7.
    """
    told = _told(planned)
    return replace(planned, unknown=tuple(replace(one, why=told) if one.why == OWN_NAMES else one for one in planned.unknown))


def _told(planned: Plan) -> str:
    of_subject: dict[str, dict[str, None]] = defaultdict(dict)
    named = True
    for part, where in (pair for source in planned.series for pair in source.parts):
        for subject, path in zip(read(part.group, where, "subject"), part.group.paths, strict=True):
            of_subject[subject][path] = None
        named &= any(stretch.field == "subject" and stretch.end > part.group.name_at for stretch in where)
    shared = next((list(paths) for paths in of_subject.values() if len(paths) > 1), [])
    if shared:
        one = f"{shared[0]} and {shared[1]} are taken for one subject by what their paths share"
        return f"{one}; whether that is a person, and whether two subjects are one, is not said"
    return OWN_NAMES if named else "every image lies in a folder of its own; whether two are of one person is not said"
