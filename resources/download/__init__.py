"""Fetches the raw files of a dataset: listed by host, resumable, verified, unpacked by one extractor, recorded in a journal."""
