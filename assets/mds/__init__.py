"""The records of MDS-Bench (arXiv 2607.04694): for each target file one picture and one JSON, and what is said of the dataset.

What the benchmark leaves open is decided here and told in `docs/records.md`. Nothing here imports Dagster.
"""
