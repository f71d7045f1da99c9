"""The score of MDS-Bench: eleven metrics over standardized datasets, by the arithmetic of its public evaluator.

Nothing here imports Dagster. `score_folder` scores folders; `report` turns what it found into tables, JSON and text.
"""

from assets.benchmark.mdsbench.layout import LayoutError
from assets.benchmark.mdsbench.report import payload, tables
from assets.benchmark.mdsbench.score import ScoreReport, score_dataset, score_folder
from assets.benchmark.mdsbench.truth import GroundTruthError

__all__ = ["GroundTruthError", "LayoutError", "ScoreReport", "payload", "score_dataset", "score_folder", "tables"]
