# SPDX-License-Identifier: GPL-2.0-only
"""Studies: a question, the cases that are compared, and claims that are judged on them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import tomllib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import tomli_w

from . import program
from .documents.study import DyntickStudy
from .errors import InputError


@dataclass(frozen=True)
class Study:
    """A study, as its TOML file has it: the book's chapter on studies describes each key.

    >>> Study({"title": "t", "question": "q", "case": [{"name": "a", "kernel": "debian:6.12"}]}, name="mine").name
    'mine'
    """

    definition: DyntickStudy
    """The keys of the file."""
    name: str
    """The name of the study: its runs are written to ``out/NAME``."""
    folder: Path | None = None
    """The folder in which relative paths of the study are looked up; None for a study without any."""

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Study:
        """The study of a file, or one that comes with the program, by its name.

        Raises:
            InputError: a file that is not TOML.
            DyntickError: no such study.
        """
        file = Path(source)
        if file.is_file():
            return cls._parsed(file.read_text(), file.stem, file.resolve().parent, str(file))
        asked = subprocess.run([program.path(), "lab", "studies", str(source)], capture_output=True, text=True)
        if asked.returncode != 0:
            raise InputError(asked.stderr.strip(), status=asked.returncode, file=str(source))
        return cls._parsed(asked.stdout, str(source), None, str(source))

    @classmethod
    def _parsed(cls, text: str, name: str, folder: Path | None, source: str) -> Study:
        try:
            definition = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"cannot read {source}: {error}", status=2, file=source) from error
        return cls(cast(DyntickStudy, definition), name, folder)

    def to_toml(self) -> str:
        """The study as the text of a file."""
        return tomli_w.dumps(self.definition)

    @contextlib.contextmanager
    def file(self) -> Generator[Path]:
        """A file with this study, which is removed afterwards; in the study's folder if it has one."""
        with tempfile.TemporaryDirectory(prefix="dyntick-") as folder:
            if self.folder is None:
                file = Path(folder) / f"{self.name}.toml"
                file.write_text(self.to_toml())
                yield file
                return
        # Relative paths in the study begin at its folder.
        with tempfile.NamedTemporaryFile("w", dir=self.folder, prefix=f"{self.name}.", suffix=".toml") as named:
            named.write(self.to_toml())
            named.flush()
            yield Path(named.name)
