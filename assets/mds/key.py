"""When a dataset's records are current."""

from __future__ import annotations

import hashlib

from assets.dataset import Dataset
from assets.incremental import CODE_VERSION, digest, step_parameters
from assets.mds.listing import read_listing
from assets.spec_mds import Mds

STEP = "records"


def records_key(dataset: Dataset, mds: Mds) -> str:
    """The key under which the records are current: of the tables, the list of targets, the spec and the code."""
    listing = hashlib.sha256(read_listing(mds, dataset.raw_root).content).hexdigest()
    made_of = [dataset.store.dataset_record().keys.get("index"), listing]
    return digest([CODE_VERSION[STEP], step_parameters(dataset.spec, STEP), made_of])[:32]
