"""Looks at a folder that no spec describes and drafts one, with what was seen for every field and what could not be told.

Rules are general: no name of a dataset is known here. Nothing is changed, few files are opened, and the same folder always
gives the same draft.
"""

from assets.inspect.draft import as_yaml
from assets.inspect.inspection import Inspection, inspect_folder

__all__ = ["Inspection", "as_yaml", "inspect_folder"]
