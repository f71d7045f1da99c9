"""Benchmarks: what is scored, and how."""
