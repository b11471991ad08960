# SPDX-License-Identifier: GPL-2.0-only
"""The work of a node: what it can run, kernels that it fetches or builds for all, and cases."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import ray

from .. import program
from ..documents.lab_build import DyntickLabBuild
from ..documents.lab_run import DyntickLabRun
from ..errors import DyntickError
from ..packing import packed, unpacked
from ..program import cache
from ..store import Store, folder_of
from ..verbs import doctor
from .job import SECRET, Job


@dataclass(frozen=True)
class Ability:
    """A node as it was found."""

    node: str
    """Ray's id of the node."""
    host: str
    program_sha256: str
    """The hash of its program, which decides what a run is."""
    cache: str
    """The identity of its cache: nodes on one machine may share it."""
    tools: frozenset[str]
    """The tools that it has, of those that were asked for."""
    kvm: bool
    """True if guests run on KVM there, for the wall clock."""
    builds: bool
    """True if it has what compiles a kernel."""
    missing: tuple[str, ...]
    """The findings of ``dyntick lab doctor`` by which it can run no study, with their remedies."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the laboratory's cache, for caches of other nodes."""

    place: str
    """The folder in the cache."""
    contents: bytes = field(repr=False)

    def sealed(self, secret: bytes) -> bytes:
        """The object of a store. It is made with the secret only, since a kernel is believed and not made again."""
        return b"%s %s\n%s" % (self._seal(secret), self.place.encode(), self.contents)

    @classmethod
    def unsealed(cls, object_: bytes, secret: bytes) -> Kernel | None:
        """The kernel of an object; None if another laboratory made it, or it was changed."""
        head, _, contents = object_.partition(b"\n")
        seal, _, place = head.partition(b" ")
        kernel = cls(place.decode(errors="replace"), contents)
        return kernel if hmac.compare_digest(seal, kernel._seal(secret)) else None

    def _seal(self, secret: bytes) -> bytes:
        message = self.place.encode() + b"\0" + hashlib.sha256(self.contents).digest()
        return hmac.digest(secret, message, "sha256").hex().encode()


@dataclass(frozen=True)
class Ran:
    """Cases that a node has run one after the other."""

    cases: tuple[str, ...]
    node: str
    """Ray's id of the node."""
    host: str
    seconds: float
    """The wall time."""
    core_seconds: float
    """The same times the cores that the task had."""
    runs: dict[str, bytes] = field(repr=False)
    """The runs that are complete, packed, by the names of their folders."""
    failures: dict[str, str]
    """The error of each case that has not all of its runs."""


def look(node: str, tools: Sequence[str]) -> Ability:
    """Looks at this node."""
    cache().mkdir(parents=True, exist_ok=True)
    at = cache().stat()
    checks = doctor()["checks"]
    good = {check["what"] for check in checks if check["state"] == "ok"}
    lacking = [check for check in checks if check["state"] == "missing"]
    return Ability(
        node=node,
        host=socket.gethostname(),
        program_sha256=program.sha256(),
        cache=f"{socket.gethostname()}:{at.st_dev}:{at.st_ino}",
        tools=frozenset(tool for tool in tools if shutil.which(tool) is not None),
        kvm="KVM" in good,
        builds="building kernels" in good,
        missing=tuple(f"{check['what']}: {check['detail']}; {check['fix'] or ''}" for check in lacking),
    )


def prepare(job: Job, kernel: str, builds: bool) -> list[Kernel]:
    """Builds or fetches a kernel of the study into this node's cache, and reads it for others.

    A kernel that is built comes from the store if that has it, and is stored there.
    """
    _take_secret(job)
    with tempfile.TemporaryDirectory(prefix="dyntick-") as folder:
        study = job.unpack(Path(folder))
        if not builds:
            release = program.printed(["lab", "shell", "--virtual", "--kernel", kernel, "--", "busybox", "uname", "-r"])
            found = (cache() / "kernels").glob(f"{release.split()[-1]}_*")
            return [_of_cache(f"kernels/{path.name}") for path in found if path.is_dir()]
        store = None if job.store is None else Store(job.store)
        stored = store and _take_kernel(store, job.kernel_object(kernel))
        built = cast(DyntickLabBuild, program.document(["lab", "build", study, kernel], "dyntick-lab-build"))
    kernels = [_of_cache(f"built/{one['key']}") for one in built["kernels"]]
    secret = cache() / SECRET
    if store is not None and secret.exists() and kernels != [stored]:
        for one in kernels:
            store.put(job.kernel_object(kernel), one.sealed(secret.read_bytes()))
    return kernels


def _of_cache(place: str) -> Kernel:
    return Kernel(place, packed(cache() / place))


def _take_kernel(store: Store, name: str) -> Kernel | None:
    """Unpacks a kernel of the store into the cache, where the program finds it unless its parts are others by now."""
    secret, contents = cache() / SECRET, store.get(name)
    if contents is None or not secret.exists():
        return None
    kernel = Kernel.unsealed(contents, secret.read_bytes())
    if kernel is not None:
        unpacked(kernel.contents, cache() / kernel.place)
    return kernel


def run_cases(job: Job, cases: Sequence[str], cores: int, *kernels: list[Kernel]) -> Ran:
    """Runs all runs of some cases, with these kernels in the cache."""
    begin = time.monotonic()
    _take_secret(job)
    for kernel in (kernel for some in kernels for kernel in some):
        unpacked(kernel.contents, cache() / kernel.place)
    with tempfile.TemporaryDirectory(prefix="dyntick-") as folder:
        out = Path(folder) / "out"
        failures = _failures(job, job.unpack(Path(folder)), cases, out)
        runs = {run.name: packed(run) for run in sorted((out / "runs").glob("*")) if (run / "SHA256SUMS").is_file()}
    seconds = time.monotonic() - begin
    own = ray.get_runtime_context().get_node_id()
    return Ran(tuple(cases), own, socket.gethostname(), seconds, seconds * cores, runs, failures)


def _failures(job: Job, study: str, cases: Sequence[str], out: Path) -> dict[str, str]:
    """Runs cases by one process, which begins once for all of them, and returns the errors."""
    arguments = ["lab", "run", study, "--out", str(out), *replace(job.changes, cases=cases).options()]
    try:
        with folder_of(job.store, lambda: cases) as store:
            document = cast(DyntickLabRun, program.document([*arguments, *store], "dyntick-lab-run"))
    except DyntickError as error:
        if len(cases) == 1:
            return {cases[0]: error.text}
        # Another of them may be at fault: each by itself, and those that are complete are not run again.
        return {name: text for case in cases for name, text in _failures(job, study, [case], out).items()}
    texts: dict[str, list[str]] = {}
    for run in document["runs"]:
        if "folder" not in run:
            texts.setdefault(run["case"], []).append(str(run["failure"]))
    return {case: "; ".join(some) for case, some in texts.items()}


def _take_secret(job: Job) -> None:
    """Makes the driver's secret this node's, if it has none: the node's runs are then the driver's own."""
    cache().mkdir(parents=True, exist_ok=True)
    if job.secret is None or (cache() / SECRET).exists():
        return
    with tempfile.NamedTemporaryFile(dir=cache(), delete=False) as beside:
        beside.write(job.secret)
        beside.flush()
        with contextlib.suppress(FileExistsError):
            os.link(beside.name, cache() / SECRET)
        os.unlink(beside.name)
