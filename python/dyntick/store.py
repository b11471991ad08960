# SPDX-License-Identifier: GPL-2.0-only
"""A store of runs and kernels that machines share: a folder, or any place that fsspec reaches, such as ``s3://bucket/runs``.

An object is complete or absent, so many writers need no server. What comes out of it is judged by the program, as
``dyntick lab run --store`` does.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import posixpath
import re
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from . import program
from .errors import EnvironmentFault
from .packing import packed, unpacked

_PACKED = ".tar"
# The name of a complete run's folder.
_RUN = re.compile(r".+\.\d+\.[0-9a-f]{12}")
# These have an object once all of it is there; a file system has a file from its first byte.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "az", "memory"}


@dataclass(frozen=True)
class Stored:
    """An object of a store."""

    name: str
    bytes: int
    unused_s: float
    """The time since it was written, s."""


class Store:
    """A store at a folder or a URL of fsspec."""

    def __init__(self, place: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            text = f"cannot use the store {place}: fsspec is not installed; pip install dyntick[store]"
            raise EnvironmentFault(text, status=2) from error
        self.place = place
        try:
            found = url_to_fs(place)
        except (ImportError, ValueError) as error:
            raise EnvironmentFault(f"cannot use the store {place}: {error}", status=2) from error
        self._files, self._root = cast(tuple[Any, str], found)

    def names(self, folder: str) -> list[str]:
        """The names of the objects in a folder of the store, e.g. ``runs``."""
        return [posixpath.basename(path).removesuffix(_PACKED) for path in self._paths(folder)]

    def _paths(self, folder: str) -> list[str]:
        # Another process may have stored something since.
        self._files.invalidate_cache()
        try:
            found = self._files.ls(posixpath.join(self._root, folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(path for path in found if path.endswith(_PACKED))

    def get(self, name: str) -> bytes | None:
        """The contents of an object; None if there is none."""
        try:
            return cast(bytes, self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None

    def put(self, name: str, contents: bytes) -> None:
        """Stores an object, complete or not at all.

        Raises:
            EnvironmentFault: the store cannot be written, e.g. because it is full.
        """
        path = self._path(name)
        protocols = self._files.protocol
        is_object = not _OBJECT_STORES.isdisjoint([protocols] if isinstance(protocols, str) else protocols)
        beside = path if is_object else f"{path}.{uuid.uuid4().hex}"
        try:
            self._files.makedirs(posixpath.dirname(path), exist_ok=True)
            self._files.pipe_file(beside, contents)
            if beside != path:
                self._files.mv(beside, path)
        except OSError as error:
            if beside != path and self._files.exists(beside):
                self._files.rm_file(beside)
            raise EnvironmentFault(f"cannot store {name} in {self.place}: {error}", status=2) from error

    def _path(self, name: str) -> str:
        return posixpath.join(self._root, name + _PACKED)

    def prune(
        self, *, unused_for_days: float | None = None, at_most: int | None = None, keep: Sequence[str] = ()
    ) -> list[Stored]:
        """Removes the oldest objects.

        Args:
            unused_for_days: objects that were written before, days.
            at_most: the oldest, until all others have at most this together, bytes.
            keep: objects that stay, by name; of a folder, such as ``kernels``, all.

        Returns:
            The objects that were removed.
        """
        kept = [name.rstrip("/") for name in keep]
        oldest = sorted(self.objects(), key=lambda one: -one.unused_s)
        left = sum(one.bytes for one in oldest)
        removed: list[Stored] = []
        for one in oldest:
            if any(one.name == name or one.name.startswith(f"{name}/") for name in kept):
                continue
            is_old = unused_for_days is not None and one.unused_s > unused_for_days * 24 * 3600
            if is_old or (at_most is not None and left > at_most):
                self._files.rm_file(self._path(one.name))
                left -= one.bytes
                removed.append(one)
        return removed

    def objects(self) -> Iterator[Stored]:
        """The objects, in any order."""
        self._files.invalidate_cache()
        now = datetime.datetime.now(datetime.UTC)
        for path, about in self._files.find(self._root, detail=True).items():
            if path.endswith(_PACKED):
                written = self._files.modified(path)
                name = posixpath.relpath(path, self._root).removesuffix(_PACKED)
                yield Stored(name, about["size"], (now - written.astimezone(datetime.UTC)).total_seconds())

    @contextmanager
    def as_folder(self, cases: Sequence[str]) -> Generator[Path]:
        """A folder for ``lab run --store`` with the runs of these cases, by their ids, that this program made elsewhere.

        Afterwards the store gets the runs that it had not, or that were refused.
        """
        within = f"runs/{program.sha256()[:12]}"
        beginnings = tuple(f"{case.replace('/', '-')}." for case in cases)
        with tempfile.TemporaryDirectory(prefix="dyntick-store-") as folder:
            runs = Path(folder) / "runs"
            runs.mkdir()
            had: dict[str, bytes] = {}
            for name in (name for name in self.names(within) if name.startswith(beginnings)):
                contents = self.get(f"{within}/{name}")
                if contents is not None:
                    unpacked(contents, runs / name)
                    had[name] = hashlib.sha256(contents).digest()
            yield Path(folder)
            for run in (run for run in sorted(runs.iterdir()) if _RUN.fullmatch(run.name)):
                contents = packed(run)
                if had.get(run.name) != hashlib.sha256(contents).digest():
                    self.put(f"{within}/{run.name}", contents)


@contextmanager
def folder_of(store: str | os.PathLike[str] | None, cases: Callable[[], Sequence[str]]) -> Generator[list[str]]:
    """The option ``--store`` for a folder or a URL; ``cases`` has the ids of the cases, and is called for a URL only."""
    if store is None:
        yield []
    elif "://" not in os.fspath(store):
        yield ["--store", os.fspath(store)]
    else:
        with Store(os.fspath(store)).as_folder(cases()) as folder:
            yield ["--store", str(folder)]
