# SPDX-License-Identifier: GPL-2.0-only
"""Runs and kernels as bytes, for stores and other machines."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

# Files that may differ between repetitions of one run, as the book's chapter on runs lists them.
_MAY_DIFFER = {"timing.json", "seal", "analysis", "stolen.json"}


def packed(folder: Path) -> bytes:
    """A folder as bytes; the same contents always give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            member = archive.gettarinfo(path, str(path.relative_to(folder)))
            member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
            if member.isfile():
                with path.open("rb") as contents:
                    archive.addfile(member, contents)
            else:
                archive.addfile(member)
    return buffer.getvalue()


def unpacked(contents: bytes, folder: Path) -> None:
    """Writes the folder of `packed`, complete or not at all; one that is there already is left.

    Raises:
        tarfile.TarError: an archive that would write elsewhere, or is damaged.
        OSError: it cannot be written, e.g. because the disk is full.
    """
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".coming-") as beside:
        whole = Path(beside) / "folder"
        whole.mkdir(mode=0o700)
        with tarfile.open(fileobj=io.BytesIO(contents)) as archive:
            archive.extractall(whole, filter="data")
        whole.rename(folder)


def differing(one: bytes | None, other: bytes | None) -> list[str]:
    """The files of two packed runs that differ, of those that must not; all of them if there is one run only."""
    sides = [_contents(side) for side in (one, other)]
    return sorted(name for name in sides[0].keys() | sides[1].keys() if sides[0].get(name) != sides[1].get(name))


def _contents(run: bytes | None) -> dict[str, bytes]:
    if run is None:
        return {}
    with tarfile.open(fileobj=io.BytesIO(run)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None and name not in _MAY_DIFFER}
