"""DICOM: series, multi-frame files and annotations.

`series` lists and opens the series of a folder, `volume` opens one file, `seg`, `rtstruct` and `sr` read annotations,
`dicomdir` lists the files of a medium; `door` is what the registry knows.
"""
