# SPDX-License-Identifier: GPL-2.0-only
"""The driver: which case may run where, the runs as they come, and the report."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .. import program
from ..documents.lab_plan import DyntickLabPlan, PlannedCase
from ..errors import DyntickError, EnvironmentFault, InputError
from ..report import UNCHANGED, Changes, Report, Source, report, with_file
from . import node
from .job import Job, differing, unpacked
from .node import Ability, Kernel, Ran

# The memory of QEMU, the program and what it reads, beyond the guest's own.
_BESIDE_GUEST = 512 << 20
_SECONDS_BETWEEN_LINES = 5.0
_NODE_ID = "ray.io/node-id"


@dataclass(frozen=True)
class Verified:
    """A case that was run a second time."""

    case: str
    hosts: tuple[str, str]
    """The nodes' hosts; the same one twice if no other can run it."""
    differing: dict[str, list[str]]
    """For each run that is not the same to the byte, the files that differ; ``run.toml`` has what decides a run."""


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

    @classmethod
    def of(cls, tools: Sequence[str]) -> Fleet:
        """Looks at each node of the connected cluster.

        Raises:
            EnvironmentFault: no node can run a study, or a node has another program than this machine.
        """
        alive = [one["NodeID"] for one in ray.nodes() if one["Alive"]]  # type: ignore[no-untyped-call]
        look = ray.remote(node.look)
        asked = [look.options(num_cpus=0, scheduling_strategy=_at(one)).remote(one, tools) for one in alive]
        found = cast(list[Ability], ray.get(asked))
        own = node.program_sha256()
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
        return cls(fit)

    def able(self, case: PlannedCase) -> list[Ability]:
        """The nodes that have the tools of a case.

        Raises:
            EnvironmentFault: there is none.
        """
        tools = [tool["name"] for tool in case["tools"]]
        able = [one for one in self.nodes if one.tools.issuperset(tools)]
        if not able:
            raise EnvironmentFault(
                f"cannot run {case['id']} on any node: none has all of {', '.join(tools)}; install them on one",
                status=2,
            )
        return able

    def shares_a_cache(self) -> bool:
        """True if all nodes have one cache, so that nothing need be sent."""
        return len({one.cache for one in self.nodes}) == 1


def _cores(case: PlannedCase) -> int:
    """The cores of a case: on the virtual clock one thread executes all CPUs of a guest."""
    return 1 if case["clock"] == "virtual" else case["cpus"]


def _at(node_id: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id, soft=False)


@dataclass
class _Work:
    """The tasks of one study."""

    job: Job
    fleet: Fleet
    kernels: dict[str, Any] = field(default_factory=dict[str, Any])
    """For each kernel the reference of what nodes need of it."""

    def submit(self, case: PlannedCase, but: str | None = None) -> Any:
        """Begins a case, on another node than ``but`` if another can run it."""
        able = self.fleet.able(case)
        chosen = [one for one in able if one.node != but] or able
        options: dict[str, Any] = {
            "num_cpus": _cores(case),
            "memory": case["memory"] + _BESIDE_GUEST,
            "max_retries": 3,
            "name": case["id"],
        }
        if len(chosen) < len(self.fleet.nodes):
            options["label_selector"] = {_NODE_ID: f"in({','.join(one.node for one in chosen)})"}
        run = ray.remote(node.run_case).options(**options)
        return run.remote(self.job, case["id"], _cores(case), *self._kernel(case))

    def _kernel(self, case: PlannedCase) -> list[Any]:
        if self.fleet.shares_a_cache() and not case["builds"]:
            return []
        if case["kernel"] not in self.kernels:
            prepare = ray.remote(node.prepare).options(num_cpus=1, name=f"kernel {case['kernel']}")
            self.kernels[case["kernel"]] = prepare.remote(self.job, case["kernel"], case["builds"])
        return [self.kernels[case["kernel"]]]


def run(
    study: Source,
    *,
    address: str | None = None,
    changes: Changes = UNCHANGED,
    out: str | os.PathLike[str] | None = None,
    verify_percent: float = 0,
    progress: bool | Callable[[str], None] = True,
) -> FleetReport:
    """Runs a study on a Ray cluster; runs that are stored in ``out`` are used again.

    Args:
        address: the cluster, e.g. ``"auto"`` or ``"ray://HOST:10001"``; None for the one that is connected, or one on
            this machine.
        changes: changes of the study's cases.
        out: the folder for runs and report; None for ``out/NAME``.
        verify_percent: the share of cases, %, that are run a second time, on another node if there is one, and
            compared to the byte.
        progress: True for lines on standard error; a function gets each line instead.

    Raises:
        InputError: the study is wrong, or needs files or kernels of this machine that cannot be sent.
        EnvironmentFault: no node can run a case; the error names what is missing.
    """
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    job = Job.of(study, changes)
    folder = Path(out) if out is not None else Path("out") / job.name
    planned = _plan(study, changes)
    tools = sorted({tool["name"] for case in planned["cases"] for tool in case["tools"]})
    work = _Work(job, Fleet.of(tools))
    for case in planned["cases"]:
        work.fleet.able(case)
        if not case["builds"] and not case["kernel"].startswith("debian:"):
            raise InputError(
                f"cannot run {case['id']} on other machines: its kernel, {case['kernel']}, is of this one; "
                "name one of Debian's (debian:SERIES), or have the study build it ([kernels])",
                status=2,
            )
    ended = _run_all(work, _left(study, changes, folder, planned), folder, progress)
    verified = _verify(work, _drawn(planned["cases"], verify_percent), folder, progress)
    final = report(study, changes=changes, out=folder)
    return FleetReport(
        document=final.document,
        folder=final.folder,
        failures={ran.case: ran.failure for ran in ended if ran.failure is not None},
        verified=verified,
        core_hours=sum(ran.core_seconds for ran in ended) / 3600,
    )


def _plan(study: Source, changes: Changes) -> DyntickLabPlan:
    with with_file(study) as source:
        return cast(DyntickLabPlan, program.document(["lab", "plan", source, *changes.options()], "dyntick-lab-plan"))


def _left(study: Source, changes: Changes, folder: Path, planned: DyntickLabPlan) -> list[PlannedCase]:
    """The cases that have not all of their runs, the longest first."""
    complete: dict[str, int] = {}
    if (folder / "runs").is_dir():
        try:
            for one in report(study, changes=changes, out=folder).runs:
                # What another laboratory made is run once more, as by `dyntick lab run`.
                complete[one["case"]] = complete.get(one["case"], 0) + int(one["made_here"])
        except DyntickError:
            complete = {}
    left = [case for case in planned["cases"] if complete.get(case["id"], 0) < case["runs"]]
    return sorted(left, key=lambda case: -case["estimated_s"] * case["runs"])


def _run_all(
    work: _Work, cases: Sequence[PlannedCase], folder: Path, progress: bool | Callable[[str], None]
) -> list[Ran]:
    say = _Progress(len(cases), progress)
    pending = [work.submit(case) for case in cases]
    ended: list[Ran] = []
    while pending:
        done, pending = ray.wait(pending, num_returns=1, timeout=_SECONDS_BETWEEN_LINES)
        for one in done:
            ran = cast(Ran, ray.get(one))
            for name, contents in ran.runs.items():
                unpacked(contents, folder / "runs" / name)
            ran.runs.clear()
            ended.append(ran)
            say.ended(ran)
    return ended


def _verify(
    work: _Work, cases: Iterable[PlannedCase], folder: Path, progress: bool | Callable[[str], None]
) -> list[Verified]:
    """Runs cases twice more, on two nodes if two can: neither needs a folder that this machine has written."""
    pairs: list[tuple[PlannedCase, Any, Any]] = []
    for case in cases:
        able = work.fleet.able(case)
        first = work.submit(case, but=able[-1].node if len(able) > 1 else None)
        second = work.submit(case, but=able[0].node if len(able) > 1 else None)
        pairs.append((case, first, second))
    verified: list[Verified] = []
    for case, first, second in pairs:
        one, other = cast(list[Ran], ray.get([first, second]))
        names = one.runs.keys() | other.runs.keys()
        found = {name: differing(one.runs.get(name), other.runs.get(name)) for name in sorted(names)}
        unlike = {name: files for name, files in found.items() if files}
        verified.append(Verified(case["id"], (one.host, other.host), unlike))
    return verified


def _drawn(cases: Sequence[PlannedCase], percent: float) -> list[PlannedCase]:
    """A share of the cases in virtual time, the same ones each time; of a share above 0 at least one."""
    exact = [case for case in cases if case["clock"] == "virtual"]
    if percent <= 0 or not exact:
        return []
    number = max(1, round(len(exact) * percent / 100))
    return random.Random(len(exact)).sample(exact, min(number, len(exact)))


class _Progress:
    """Lines about cases as they end, with the time left and the cost so far."""

    def __init__(self, cases: int, progress: bool | Callable[[str], None]) -> None:
        self.cases, self.done, self.seconds = cases, 0, 0.0
        self.begin = time.monotonic()
        self.progress = progress

    def ended(self, ran: Ran) -> None:
        self.done += 1
        self.seconds += ran.core_seconds
        left = (time.monotonic() - self.begin) / self.done * (self.cases - self.done)
        state = "failed" if ran.failure else f"{ran.seconds:.0f} s"
        words = f"{self.done} of {self.cases}: {ran.case} on {ran.host}, {state}; {self.seconds / 3600:.2f} core hours"
        words += f", about {left / 60:.0f} min left" if self.done < self.cases else ""
        if callable(self.progress):
            self.progress(words)
        elif self.progress:
            print(words, file=sys.stderr, flush=True)
