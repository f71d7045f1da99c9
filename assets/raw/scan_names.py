"""Better names for the scans of a subject, from the files of `key: value` lines it has for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assets.raw.lines import key_values
from assets.raw.tree import natural_key
from assets.spec_layout import ScanNames
from resources.findings import Code, Finding, finding


@dataclass
class BetterNames:
    """The names of one subject's scans.

    Attributes:
        names: What the spec says of them.
        scans: Scan as paths have it -> the root it lies under, or empty; only scans that count.
        better: Scan as paths have it -> its better name.
        findings: What is wrong with the telling; a scan it does not reach keeps the name its path has.
    """

    names: ScanNames
    scans: Mapping[str, str]
    better: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def read(self, folder: Path, path: str, root: str) -> None:
        """Take the names that a file tells.

        Args:
            folder: The raw folder.
            path: The file, relative to it.
            root: The root it lies under, whose scans alone it names; empty for those of all roots.
        """
        try:
            values = key_values(folder / path)
        except (OSError, ValueError) as error:
            self.findings.append(finding(Code.UNREADABLE, f"the names of the scans cannot be read: {error}", file=path))
            return
        for key, name in self.names.keys.items():
            value = values.get(key, "")
            if value.isdecimal():
                self._name(self.names.scan.format(value=int(value)), name, f"{key}: {value}", path, root)
            else:
                detail = f"it has no whole number for {key!r} that would say which scan is {name}"
                self.findings.append(finding(Code.BAD_HEADER, detail, file=path))

    def _name(self, scan: str, name: str, said: str, path: str, root: str) -> None:
        if scan not in self.scans:
            there = ", ".join(sorted(self.scans, key=natural_key)) or "no scan"
            problem = f"{scan}, which is not there (there: {there}); no scan is called {name}"
        elif root and self.scans[scan] not in ("", root):
            problem = f"{scan}, which is taken from {self.scans[scan]}, not from {root}"
        elif scan in self.better:
            problem = f"{scan}, which is called {self.better[scan]} already"
        elif name in self.better.values():
            other = next(other for other, given in self.better.items() if given == name)
            problem = f"{scan}, but {other} is called {name} already; {scan} keeps its name"
        else:
            self.better[scan] = name
            return
        self.findings.append(finding(Code.SCAN_NAME_ASTRAY, f"it says {said!r}, so that {name} would be {problem}", file=path))
