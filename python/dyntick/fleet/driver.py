# SPDX-License-Identifier: GPL-2.0-only
"""The driver: which case may run where, the runs as they come, and the report."""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .. import program
from ..documents.lab_plan import DyntickLabPlan, PlannedCase
from ..documents.lab_run import CompleteRun
from ..errors import EnvironmentFault, InputError
from ..packing import differing, packed, unpacked
from ..program import Progress
from ..report import UNCHANGED, Changes, Report, Source, plan, report
from . import node
from .cluster import connect
from .job import Job
from .node import Ability, Ran

# The memory of QEMU, the program and what it reads, beyond the guest's own.
_BESIDE_GUEST = 512 << 20
_SECONDS_BETWEEN_LOOKS = 5.0
# Of so many tasks and of those that run at once Ray is asked whether they have ended: each question costs time for each.
_ASKED_AT_ONCE = 500
# A task has cases for at most this time, as estimated: a lost node costs no more. One long case is a task.
_SECONDS_OF_TASK = 60.0
_NODE_ID = "ray.io/node-id"

# Made once: Ray sends each of them to its nodes, and runs the tasks of one in the order in which they were submitted.
_LOOK = ray.remote(node.look)
_PREPARE = ray.remote(node.prepare)
_RUN_CASES = ray.remote(node.run_cases)


@dataclass(frozen=True)
class Verified:
    """A case that was run a second time."""

    case: str
    hosts: tuple[str, str]
    """The hosts of the nodes, the first one "stored" for runs of an earlier call."""
    differing: dict[str, list[str]]
    """For each run that is not the same to the byte, the files that differ; ``run.toml`` has what decides a run."""
    failure: str | None
    """The error of the second time."""


@dataclass(frozen=True)
class FleetReport(Report):
    """A report, and how the fleet came to it."""

    failures: dict[str, str]
    """The error of each case that has not all of its runs."""
    verified: list[Verified]
    """The cases that were run twice."""
    core_hours: float
    """The cores that the cases of this call had, times their hours; stored runs cost none."""


@dataclass
class Fleet:
    """A Ray cluster as it was found."""

    nodes: list[Ability]
    cores: float = 1.0
    """The cores of all of them together, as Ray counts them."""

    @classmethod
    def of(cls, tools: Sequence[str]) -> Fleet:
        """Looks at each node of the connected cluster.

        Raises:
            EnvironmentFault: no node can run a study, or a node has another program than this machine.
        """
        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        alive = {one["NodeID"]: one["Resources"].get("CPU", 0.0) for one in nodes if one["Alive"]}
        asked = [_LOOK.options(num_cpus=0, scheduling_strategy=_at(one)).remote(one, tools) for one in alive]
        found = cast(list[Ability], ray.get(asked))
        own = program.sha256()
        others = sorted({one.host for one in found if one.program_sha256 != own})
        if others:
            raise EnvironmentFault(
                f"cannot use {', '.join(others)}: it has another build of dyntick, whose runs would be others; "
                "install the same wheel on each node",
                status=2,
            )
        fit = [one for one in found if not one.missing]
        if not fit:
            reasons = sorted({f"{one.host}: {reason}" for one in found for reason in one.missing})
            raise EnvironmentFault(f"cannot run a study on any node: {'; '.join(reasons)}", status=2)
        return cls(fit, sum(alive[one.node] for one in fit))

    def able(self, case: PlannedCase) -> list[Ability]:
        """The nodes that have the tools of a case; on the wall clock those with KVM, if there are any.

        Raises:
            EnvironmentFault: there is none.
        """
        tools = [tool["name"] for tool in case["tools"]]
        able = [one for one in self.nodes if one.tools.issuperset(tools)]
        if case["clock"] == "wall":
            able = [one for one in able if one.kvm] or able
        if not able:
            raise EnvironmentFault(
                f"cannot run {case['id']} on any node: none has all of {', '.join(tools)}; install them on one",
                status=2,
            )
        return able

    def builders(self) -> list[Ability]:
        """The nodes that can compile a kernel.

        Raises:
            EnvironmentFault: there is none.
        """
        found = [one for one in self.nodes if one.builds]
        if not found:
            raise EnvironmentFault(
                "cannot build a kernel on any node: each lacks a compiler or a tool; `dyntick lab doctor` there says which",
                status=2,
            )
        return found

    def shares_a_cache(self) -> bool:
        """True if all nodes have one cache, so that nothing need be sent."""
        return len({one.cache for one in self.nodes}) == 1


def _cores(case: PlannedCase) -> int:
    """The cores of a case: on the virtual clock one thread executes all CPUs of a guest."""
    return 1 if case["clock"] == "virtual" else case["cpus"]


def _seconds(case: PlannedCase) -> float:
    """The estimated time of all runs of a case."""
    return case["estimated_s"] * case["runs"]


def _at(node_id: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id, soft=False)


@dataclass
class _Work:
    """The tasks of one study."""

    job: Job
    fleet: Fleet
    kernels: dict[str, Any] = field(default_factory=dict[str, Any])
    """For each kernel the reference of what nodes need of it."""

    def submit(self, cases: Sequence[PlannedCase], but: str | None = None) -> Any:
        """Begins cases that have the same needs, on another node than ``but`` if another can run them."""
        first = cases[0]
        able = self.fleet.able(first)
        chosen = [one for one in able if one.node != but] or able
        names = [case["id"] for case in cases]
        options = {
            "num_cpus": _cores(first),
            "memory": first["memory"] + _BESIDE_GUEST,
            "max_retries": 3,
            "name": ", ".join(names),
            **self._on(chosen),
        }
        return _RUN_CASES.options(**options).remote(self.job, names, _cores(first), *self._kernel(first))

    def tasks(self, cases: Sequence[PlannedCase]) -> list[list[PlannedCase]]:
        """Cases in the order in which they begin, those of the same needs together.

        The program takes most of a second to begin, so short cases share it. The share of each task is smaller than
        that of the one before, so that all cores end at about the same time.
        """
        alike: dict[Hashable, list[PlannedCase]] = {}
        for case in cases:
            alike.setdefault(self._needs(case), []).append(case)
        groups = sorted(alike.values(), key=lambda group: -_seconds(group[0]))
        left = sum(map(_seconds, cases))
        made: list[list[PlannedCase]] = []
        for group in groups:
            room = 0.0
            for case in group:
                if case is group[0] or _seconds(case) > room:
                    made.append([])
                    room = min(_SECONDS_OF_TASK, left / (2 * max(self.fleet.cores, 1)))
                made[-1].append(case)
                room -= _seconds(case)
                left -= _seconds(case)
        return made

    def _needs(self, case: PlannedCase) -> Hashable:
        able = tuple(one.node for one in self.fleet.able(case))
        return _cores(case), case["memory"], able, case["kernel"] if self._is_sent(case) else None

    def _on(self, nodes: Sequence[Ability]) -> dict[str, Any]:
        """The options of a task that runs on these nodes only."""
        if len(nodes) == len(self.fleet.nodes):
            return {}
        return {"label_selector": {_NODE_ID: f"in({','.join(one.node for one in nodes)})"}}

    def _is_sent(self, case: PlannedCase) -> bool:
        """True if the kernel of a case is made by a task of its own."""
        return case["builds"] or not self.fleet.shares_a_cache()

    def _kernel(self, case: PlannedCase) -> list[Any]:
        if not self._is_sent(case):
            return []
        if case["kernel"] not in self.kernels:
            options = self._on(self.fleet.builders()) if case["builds"] else {}
            prepare = _PREPARE.options(num_cpus=1, name=f"kernel {case['kernel']}", **options)
            self.kernels[case["kernel"]] = prepare.remote(self.job, case["kernel"], case["builds"])
        return [self.kernels[case["kernel"]]]


def run(
    study: Source,
    *,
    address: str | None = None,
    changes: Changes = UNCHANGED,
    out: str | os.PathLike[str] | None = None,
    store: str | None = None,
    verify_percent: float = 0,
    progress: Progress = True,
) -> FleetReport:
    """Runs a study on a Ray cluster; runs that are stored in ``out`` are used again.

    Args:
        address: the cluster, e.g. ``"auto"`` or ``"ray://HOST:10001"``; None for the one that is connected, or one on
            this machine.
        changes: changes of the study's cases.
        out: the folder for runs and report; None for ``out/NAME``.
        store: a store that each node reaches, a folder or a URL of fsspec: runs that others made are taken from it,
            and those of this call stored there.
        verify_percent: the share of cases, %, that are run a second time, on another node if there is one, and
            compared to the byte; not of the wall clock.
        progress: True for lines on standard error; a function gets each line instead.

    Raises:
        InputError: the study is wrong, or needs files or kernels of this machine that cannot be sent.
        EnvironmentFault: no node can run a case; the error names what is missing.
    """
    connect(address)
    job = Job.of(study, changes, store)
    folder = Path(out) if out is not None else Path("out") / job.name
    planned = plan(study, changes)
    tools = sorted({tool["name"] for case in planned["cases"] for tool in case["tools"]})
    work = _Work(job, Fleet.of(tools))
    for case in planned["cases"]:
        work.fleet.able(case)
        if case["builds"]:
            work.fleet.builders()
        if not case["builds"] and not case["kernel"].startswith("debian:"):
            raise InputError(
                f"cannot run {case['id']} on other machines: its kernel, {case['kernel']}, is of this one; "
                "name one of Debian's (debian:SERIES), or have the study build it ([kernels])",
                status=2,
            )
    ended = _run_all(work, _left(study, changes, folder, planned), folder, progress)
    failures = {case: text for ran in ended for case, text in ran.failures.items()}
    if failures and not (folder / "runs").is_dir():
        raise EnvironmentFault(f"no case of {job.name} has run: {'; '.join(sorted(set(failures.values())))}", status=1)
    verified = _verify(work, _drawn(planned["cases"], verify_percent), ended, folder)
    final = report(study, changes=changes, out=folder)
    return FleetReport(
        document=final.document,
        folder=final.folder,
        failures=failures,
        verified=verified,
        core_hours=sum(ran.core_seconds for ran in ended) / 3600,
    )


def _left(study: Source, changes: Changes, folder: Path, planned: DyntickLabPlan) -> list[PlannedCase]:
    """The cases that have not all of their runs, the longest first; runs of another laboratory are set aside."""
    complete: Counter[str] = Counter()
    for one in _stored(study, changes, folder):
        if one["made_here"]:
            complete[one["case"]] += 1
        else:
            _set_aside(Path(one["folder"]))
    left = [case for case in planned["cases"] if complete[case["id"]] < case["runs"]]
    return sorted(left, key=lambda case: -_seconds(case))


def _stored(study: Source, changes: Changes, folder: Path) -> list[CompleteRun]:
    if not (folder / "runs").is_dir():
        return []
    try:
        return report(study, changes=changes, out=folder).runs
    except InputError:
        # The folder has no run of these cases.
        return []


def _set_aside(run: Path) -> None:
    """Renames a run that is not this laboratory's, or was changed, as ``dyntick lab run`` does."""
    names = (run.with_name(f"{run.name}.another-{number}") for number in itertools.count(1))
    run.rename(next(name for name in names if not name.exists()))


def _run_all(work: _Work, cases: Sequence[PlannedCase], folder: Path, progress: Progress) -> list[Ran]:
    say = _Lines(len(cases), progress)
    tasks = {work.submit(some): some for some in work.tasks(cases)}
    ended: list[Ran] = []
    while tasks:
        # The first to begin are among the first to end.
        begun = list(itertools.islice(tasks, _ASKED_AT_ONCE + 2 * int(work.fleet.cores)))
        done, _ = ray.wait(begun, num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
        for one in done:
            ran = _result(one, tasks.pop(one))
            for name, contents in ran.runs.items():
                unpacked(contents, folder / "runs" / name)
            ran.runs.clear()
            ended.append(ran)
            say.ended(ran)
    return ended


def _result(task: Any, cases: Sequence[PlannedCase]) -> Ran:
    """The result of a task; one that was lost more often than Ray repeats it has failed."""
    try:
        return cast(Ran, ray.get(task))
    except RayError as error:
        names = tuple(case["id"] for case in cases)
        return Ran(names, "", "no node", seconds=0, core_seconds=0, runs={}, failures=dict.fromkeys(names, str(error)))


def _verify(work: _Work, cases: Iterable[PlannedCase], ended: Sequence[Ran], folder: Path) -> list[Verified]:
    """Runs cases once more, not on the node that ran them if another can, and compares with what is stored."""
    first = {case: ran for ran in ended for case in ran.cases}
    tasks = {work.submit([case], but=first[case["id"]].node if case["id"] in first else None): case for case in cases}
    verified: list[Verified] = []
    for task, case in tasks.items():
        again = _result(task, [case])
        unlike = {name: _unlike(folder / "runs" / name, contents) for name, contents in again.runs.items()}
        hosts = (first[case["id"]].host if case["id"] in first else "stored", again.host)
        differing = {name: files for name, files in unlike.items() if files}
        verified.append(Verified(case["id"], hosts, differing, again.failures.get(case["id"])))
    return verified


def _unlike(stored: Path, again: bytes) -> list[str]:
    return differing(packed(stored) if stored.is_dir() else None, again)


def _drawn(cases: Sequence[PlannedCase], percent: float) -> list[PlannedCase]:
    """A share of the cases in virtual time, the same ones each time; of a share above 0 at least one."""
    exact = [case for case in cases if case["clock"] == "virtual"]
    if percent <= 0 or not exact:
        return []
    number = max(1, round(len(exact) * percent / 100))
    return random.Random(len(exact)).sample(exact, min(number, len(exact)))


class _Lines:
    """Lines about cases as they end, with the time left and the cost so far."""

    def __init__(self, cases: int, progress: Progress) -> None:
        self.cases, self.done, self.seconds = cases, 0, 0.0
        self.begin = time.monotonic()
        self.progress = progress

    def ended(self, ran: Ran) -> None:
        self.done += len(ran.cases)
        self.seconds += ran.core_seconds
        left = (time.monotonic() - self.begin) / self.done * (self.cases - self.done)
        failed = f"failed: {', '.join(ran.failures)}; " if ran.failures else ""
        words = f"{self.done} of {self.cases}: {', '.join(ran.cases)} on {ran.host}, {ran.seconds:.0f} s; "
        words += f"{failed}{self.seconds / 3600:.2f} core hours"
        words += f", about {left / 60:.0f} min left" if self.done < self.cases else ""
        if callable(self.progress):
            self.progress(words)
        elif self.progress:
            print(words, file=sys.stderr, flush=True)
