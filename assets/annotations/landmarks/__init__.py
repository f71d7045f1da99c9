"""Landmarks that experts set, and the lengths and angles between them: one module per kind of file, one that measures."""
