"""g, of which SV is the mean: the 14 schema checks, each 1/14."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.scored import Check, Scored, share
from assets.benchmark.mdsbench.truth import FormatRules
from assets.benchmark.mdsbench.values import (
    TASKS,
    JsonObject,
    dimension,
    full_path,
    is_empty,
    is_filled,
    is_present,
    shown,
    text,
)

_BRANCH_OF = {"2d": "common", "3d": "three_d", "video": "video"}


def schema_validity(record: Record, rules: FormatRules) -> Scored:
    """The share of the 14 checks a record passes."""
    return share("SV", [*_block_checks(record, rules), *_sample_checks(record, rules), *_branch_checks(record, rules)])


def _block_checks(record: Record, rules: FormatRules) -> Iterator[Check]:
    lacking = [name for name in rules.top_level_blocks if not isinstance(record.whole.get(name), dict)]
    yield Check("top_level_blocks", not lacking, f"not an object: {lacking}")
    yield _all_filled("record_required", record.record, rules.record_required)
    path = record.record.get("image_path")
    inside = isinstance(path, str) and full_path(path).startswith("images/")
    yield Check("record_image_path_rel", inside, f"image_path is {shown(path)}, expected images/<i>.<ext>")
    lacking = [name for name in rules.context_sample_required if not _has_block(record.sample, name)]
    yield Check("context_sample_required", not lacking, f"context.sample lacks {lacking}; extra must be an object")


def _has_block(sample: JsonObject, name: str) -> bool:
    return isinstance(sample.get("extra"), dict) if name == "extra" else is_present(sample.get(name))


def _sample_checks(record: Record, rules: FormatRules) -> Iterator[Check]:
    sample, extra = record.sample, record.own_extra
    yield _all_filled("sample_required_fields", sample, rules.sample_required_fields)
    null = [name for name in rules.sample_non_missing_fields if sample.get(name) is None]
    yield Check("sample_non_missing_fields", not null, f"absent or null in context.sample: {null}")
    yield _any_filled("extra_required_any", extra, rules.extra_required_any)
    yield _any_filled("extra_non_missing_fields", extra, rules.extra_non_missing_fields)
    media = record.media
    stated = bool(text(media.get("task_type"))) and bool(dimension(media.get("dimension")))
    met = f"task_type is {shown(media.get('task_type'))}, dimension is {shown(media.get('dimension'))}"
    yield Check("media_required", stated, met)
    left_over = next(_template_keys(record.whole), "")
    yield Check("forbidden_desc_options", not left_over, f"key {shown(left_over)} was left over from the template")


def _all_filled(item: str, block: JsonObject, names: Iterable[str]) -> Check:
    lacking = [name for name in names if not is_filled(block.get(name))]
    return Check(item, not lacking, f"missing or a placeholder: {', '.join(f'{n} = {shown(block.get(n))}' for n in lacking)}")


def _any_filled(item: str, block: JsonObject, names: tuple[str, ...]) -> Check:
    found = not names or any(is_filled(block.get(name)) for name in names)
    return Check(item, found, f"context.sample.extra has a value under none of {list(names)}")


def _template_keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (key for key in value if key.endswith(("__desc", "__options")))
        for item in value.values():
            yield from _template_keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _template_keys(item)


def _branch_checks(record: Record, rules: FormatRules) -> Iterator[Check]:
    declared = dimension(record.media.get("dimension"))
    mine = _BRANCH_OF.get(declared, "")
    selected = isinstance(record.spatial.get(mine), dict) and not is_empty(record.spatial.get(mine))
    yield Check("spatial_branch_selected", selected, f"dimension is {shown(declared)}: spatial.{mine or '?'} must be filled")
    filled = [name for name in _BRANCH_OF.values() if name != mine and not is_empty(record.spatial.get(name))]
    exclusive = bool(mine) and not filled
    yield Check("spatial_branch_exclusive", exclusive, f"dimension is {shown(declared)}, yet these are filled as well: {filled}")

    task = text(record.media.get("task_type"))
    branch = record.task(task)
    required = rules.task_required_fields.get(task, ("schema_variant",))
    lacking = [name for name in required if not is_filled(branch.get(name))]
    yield Check("task_branch_required", bool(branch) and not lacking, f"tasks.{shown(task)} lacks {lacking or 'everything'}")
    filled = [name for name in TASKS if name != task and not is_empty(record.tasks.get(name))]
    yield Check("task_branch_exclusive", not filled, f"task_type is {shown(task)}, yet these are filled as well: {filled}")
