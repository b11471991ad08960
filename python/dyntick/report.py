# SPDX-License-Identifier: GPL-2.0-only
"""Studies run on this machine, and their reports."""

from __future__ import annotations

import contextlib
import html
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pyarrow as pa

from . import program
from .documents.lab_plan import DyntickLabPlan
from .documents.lab_run import CompleteRun, DyntickLabRun
from .figures import figures
from .program import Progress
from .store import folder_of
from .study import Study

if TYPE_CHECKING:
    from .plots import Picture

Source = Study | str | os.PathLike[str]
"""A study, the path of its file, or the name of one that comes with the program."""


@dataclass(frozen=True)
class Changes:
    """Changes of a study's cases, as the options of ``dyntick lab run`` of the same names make them."""

    cases: Sequence[str] = ()
    """Only cases of these names or ids."""
    kernels: Sequence[str] = ()
    """Each case on each of these kernels in place of its own: ``"debian:6.12"``, ``"after=./bzImage"``."""
    append: Sequence[str] = ()
    """Each case with each of these additions to its kernel command line."""
    settings: Mapping[str, str | int] | None = None
    """Keys of each case, e.g. ``{"cpus": 4, "sysctl.vm.stat_interval": 60}``."""
    clock: Literal["virtual", "wall"] | None = None
    """The clock; None for the study's own."""
    repeat: int | None = None
    """The runs of each case on the wall clock."""
    perturb: int | None = None
    """The further runs of each case with an irrelevant change, on the virtual clock."""

    def options(self) -> list[str]:
        """The options of the command line."""
        several = {"--case": self.cases, "--kernel": self.kernels, "--append": self.append}
        options = [word for option, values in several.items() for value in values for word in (option, value)]
        for key, value in (self.settings or {}).items():
            options += ["--set", f"{key}={value}"]
        single = {"--clock": self.clock, "--repeat": self.repeat, "--perturb": self.perturb}
        options += [word for option, value in single.items() if value is not None for word in (option, str(value))]
        return options


UNCHANGED = Changes()
"""The study as it is."""


@dataclass(frozen=True)
class Report:
    """A study's runs, and what was found."""

    document: DyntickLabRun = field(repr=False)
    """All that ``dyntick lab run --json`` prints."""
    folder: Path
    """The folder with the runs and ``report.html``."""

    @cached_property
    def figures(self) -> pa.Table:
        """The figures of the runs that are complete, a row each; the columns are `dyntick.SCHEMA`'s."""
        return figures([run["folder"] for run in self.runs])

    @property
    def runs(self) -> list[CompleteRun]:
        """The runs that are complete."""
        return [cast(CompleteRun, run) for run in self.document["runs"] if "folder" in run]

    @property
    def rulings(self) -> dict[str, list[str]]:
        """The rulings on each claim, by its text: one for each variant, ``"reproduced"`` or another."""
        return {
            verdict["claim"]["text"]: [str(ruling[1]) for ruling in verdict["rulings"]]
            for verdict in self.document["verdicts"]
        }

    def plot(self, figure: str, *, key: str | None = None, cpu: int | None = None) -> Picture:
        """A bar for each case: a figure of one CPU, or its sum over CPUs, and the mean over runs; needs matplotlib."""
        from .plots import bars

        return bars(self.figures, figure, key=key, cpu=cpu)

    def _repr_html_(self) -> str:
        """The question and the claims with their rulings, for notebooks."""
        study = self.document["study"]
        rows = "".join(
            f"<tr><td>{html.escape(', '.join(sorted(set(rulings))))}</td><td>{html.escape(claim)}</td></tr>"
            for claim, rulings in self.rulings.items()
        )
        return (
            f"<h4>{html.escape(study['title'])}</h4><p>{html.escape(study['question'])}</p>"
            f"<table><tr><th>ruling</th><th>claim</th></tr>{rows}</table>"
            f"<p>{len(self.runs)} runs in {html.escape(str(self.folder))}</p>"
        )


def run(
    study: Source,
    *,
    changes: Changes = UNCHANGED,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Report:
    """Runs a study in virtual machines, as many at a time as ``jobs``; runs that are stored are used again.

    Args:
        out: the folder for runs and report; None for ``out/NAME``.
        store: a store of runs that others made too, a folder or a URL of fsspec; see `lab run --store`.

    Raises:
        InputError: the study is wrong; the error has its file and line.
        EnvironmentFault: this machine lacks a tool or a package.
    """
    with folder_of(store, lambda: [case["id"] for case in plan(study, changes)["cases"]]) as option:
        return _asked("run", study, changes, ["--jobs", str(jobs), *option], out, progress)


def report(
    study: Source, *, changes: Changes = UNCHANGED, out: str | os.PathLike[str] | None = None
) -> Report:
    """The report of runs that are stored, without running anything; see `run`."""
    return _asked("report", study, changes, [], out, False)


def plan(study: Source, changes: Changes = UNCHANGED) -> DyntickLabPlan:
    """The cases of a study, and what each needs, without running anything."""
    with with_file(study) as source:
        return cast(DyntickLabPlan, program.document(["lab", "plan", source, *changes.options()], "dyntick-lab-plan"))


def _asked(
    verb: str,
    study: Source,
    changes: Changes,
    options: Sequence[str],
    out: str | os.PathLike[str] | None,
    progress: Progress,
) -> Report:
    folder = Path(out) if out is not None else Path("out") / _name(study)
    options = [*options, *changes.options(), "--out", os.fspath(folder)]

    with with_file(study) as source:
        found = program.document(["lab", verb, source, *options], "dyntick-lab-run", progress=progress)
    return Report(cast(DyntickLabRun, found), folder)


@contextlib.contextmanager
def with_file(study: Source) -> Generator[str | os.PathLike[str]]:
    """The argument that names a study to the program; a study of Python has a file for as long."""
    if isinstance(study, Study):
        with study.file() as file:
            yield file
    else:
        yield study


def _name(study: Source) -> str:
    return study.name if isinstance(study, Study) else Path(study).stem
