"""Where ground truths and predictions lie, in any of the layouts that are public.

Ground truths: `<...>/<group>/<dataset>/VLM/ground_truth*.json`, a folder that holds such a file itself, or the file.
Predictions: `agent1_data_organization/` in the dataset's folder (as the prompt asks) or in `VLM/<model>/` (as the evaluator
reads), or a folder that holds `standardized_annotations/` itself, such as this product's `records/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.truth import GroundTruth, load_truth
from assets.benchmark.mdsbench.values import printable

MAX_LEVELS = 4
"""How deep below the folder that is named a dataset may lie: `<repository>/datasets/<group>/<dataset>`."""

_OUTPUT = "agent1_data_organization"
_WITHIN = (_OUTPUT, "records", "")


class LayoutError(Exception):
    """Folders in which nothing can be scored; the message says what was looked for and what to do."""


@dataclass(frozen=True)
class Expected:
    """One dataset of the benchmark.

    Attributes:
        key: `<group>/<dataset>` as far as the folder that was named shows it.
        truth: Its ground truth.
    """

    key: str
    truth: GroundTruth

    @property
    def group(self) -> str:
        """The folder above the dataset's; empty when it is not seen."""
        return self.key.rpartition("/")[0]


def find_truths(root: Path) -> tuple[Expected, ...]:
    """Every ground truth at or below a folder, in order of its key; of several in one folder the first by name.

    Raises:
        LayoutError: There is none.
        GroundTruthError: One cannot be read.
    """
    if root.is_file():
        found = [(root, _dataset_folder(root.resolve().parent))]
    else:
        found = [(file, _dataset_folder(file.parent)) for file in _search(root, MAX_LEVELS)]
    if not found:
        raise LayoutError(f"no ground_truth*.json at or below {root}; name the folder of <dataset>/VLM/ground_truth*.json")
    datasets = (Expected(_key(folder, root), load_truth(file)) for file, folder in found)
    return tuple(sorted(datasets, key=lambda dataset: dataset.key))


def truth_in(folder: Path) -> Path | None:
    """The ground truth of the dataset whose folder this is: the first by name in `VLM/`, else in the folder itself."""
    files = (file for place in (folder / "VLM", folder) for file in sorted(place.glob("ground_truth*.json")))
    return next(files, None)


def _search(folder: Path, levels: int) -> list[Path]:
    """Ground truths below a folder; where one is found, nothing deeper is looked at."""
    if (file := truth_in(folder)) is not None:
        return [file]
    if levels == 0 or not folder.is_dir():
        return []
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [file for path in below for file in _search(path, levels - 1)]


def _dataset_folder(place: Path) -> Path:
    return place.parent if place.name == "VLM" else place


def _key(folder: Path, root: Path) -> str:
    below = folder.is_relative_to(root) and folder != root
    return "/".join(folder.relative_to(root).parts[-2:]) if below else folder.resolve().name


def find_predictions(root: Path, dataset: Expected, *, model: str = "", alone: bool = False) -> Folder | None:
    """The folder of predictions for a dataset, or None.

    Args:
        root: The folder the user named; nothing outside it is read.
        dataset: What is to be answered.
        model: Name of a folder below `VLM/`; empty for predictions that lie elsewhere, or when there is but one.
        alone: The dataset is the only one, so that `root` itself may be its folder.

    Raises:
        LayoutError: Several models lie below `VLM/` and none was named.
    """
    boundary = root.resolve()
    bases = [root / dataset.key, root / "datasets" / dataset.key, root / dataset.key.rpartition("/")[2]]
    for base in [*bases, root] if alone else bases:
        places = [base / "VLM" / model, base / model] if model else [base, *_only_model(base)]
        for place in (place / name for place in places for name in _WITHIN):
            if _holds_output(place) and place.resolve().is_relative_to(boundary):
                return Folder(place, boundary)
    return None


def _only_model(base: Path) -> list[Path]:
    if _holds_any(base) or not (base / "VLM").is_dir():
        return []
    models = sorted(path for path in (base / "VLM").iterdir() if (path / _OUTPUT).is_dir())
    if len(models) > 1:
        names = ", ".join(printable(path.name) for path in models)
        raise LayoutError(f"{base / 'VLM'} holds the output of several models: {names}; name one with --model")
    return models


def _holds_any(base: Path) -> bool:
    return any(_holds_output(base / name) for name in _WITHIN)


def _holds_output(place: Path) -> bool:
    parts = ("standardized_annotations", "data_meta.json")
    return place.is_dir() and (place.name == _OUTPUT or any((place / name).exists() for name in parts))
