# SPDX-License-Identifier: GPL-2.0-only
"""The part of a fleet's work that each node has to know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..program import cache
from ..report import Changes, Source
from ..study import Study

SECRET = "seal.secret"
"""The file of a cache with the secret by which this user's laboratory knows its own runs."""


@dataclass(frozen=True)
class Job:
    """A study as it is sent to nodes."""

    name: str
    """The name of a study that comes with the program, or the name of the file."""
    text: str | None
    """The text of the file; None for one that comes with the program."""
    changes: Changes
    secret: bytes | None = field(repr=False)
    """The secret of the driver's laboratory, which a node that has none takes over."""
    store: str | None = None
    """The store of runs that all nodes reach."""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The files of the study's folder that it names, such as patches, by their paths."""

    @classmethod
    def of(cls, source: Source, changes: Changes, store: str | None = None) -> Job:
        """The job of a study.

        Raises:
            InputError: a study that needs a folder of this machine, e.g. a kernel's source tree.
        """
        study = source if isinstance(source, Study) else Study.from_toml(source)
        secret = cache() / SECRET
        is_shipped = not isinstance(source, Study) and study.folder is None
        return cls(
            name=study.name,
            text=None if is_shipped else study.to_toml(),
            changes=changes,
            secret=secret.read_bytes() if secret.is_file() else None,
            store=store,
            files=dict(_named_files(study)),
        )

    def kernel_object(self, kernel: str) -> str:
        """The object of a store with a kernel that this study builds."""
        parts = [self.name, self.text or "", kernel, *(f"{name} {sha256(one).hexdigest()}" for name, one in self.files.items())]
        return f"kernels/{sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"

    def unpack(self, folder: Path) -> str:
        """Writes the study into a folder; the result is the argument of ``dyntick lab run``."""
        if self.text is None:
            return self.name
        for name, contents in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents)
        study = folder / f"{self.name}.toml"
        study.write_text(self.text)
        return str(study)


def _named_files(study: Study) -> Iterator[tuple[str, bytes]]:
    if study.folder is None:
        return
    for text in _texts(study.definition):
        if not text or "\n" in text or len(text) > os.pathconf("/", "PC_PATH_MAX"):
            continue
        place = study.folder / text
        if place.is_file() and place.resolve().is_relative_to(study.folder.resolve()):
            yield text, place.read_bytes()
        elif "/" in text and place.exists():
            raise InputError(
                f"cannot spread {study.name}: it needs {place} of this machine; "
                "copy the file into the study's folder, or build the kernel there by [kernels] of debian:SERIES",
                status=2,
            )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
