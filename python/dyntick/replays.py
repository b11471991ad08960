# SPDX-License-Identifier: GPL-2.0-only
"""Idle governors of kernel trees on recorded idle periods, scored as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import pyarrow as pa

from . import program
from .documents.replay import DyntickReplay, Scored
from .errors import InputError
from .program import Progress
from .verbs import Path

_COUNTS = ("sleeps", "choices", "right", "too_deep", "too_shallow", "as_recorded")
_LATENCY = ("mean_ns", "p50_ns", "p99_ns", "max_ns")
SCORES: pa.Schema = pa.schema(
    [pa.field(name, pa.string()) for name in ("governor", "kind", "origin")]
    + [pa.field(name, pa.int64()) for name in ("limit_ns", *_COUNTS)]
    + [pa.field(f"latency_{name}", pa.float64()) for name in _LATENCY]
    + [pa.field(f"energy_{name}j", pa.float64()) for name in ("", "low_", "high_")]
    + [pa.field("states", pa.list_(pa.int64()))]
)
"""The columns of scores: the governor, its kind and exact source, and the latency limit beside the recorded ones (null
for none). Then sleeps, choices, sleeps in the oracle's state (``right``), in a too deep and in a too shallow one, and in
the recorded one (null if the recorded states are others); the modelled wake-up latency, ns; the modelled energy, J, with
its range (null without a machine); the choices of each state, the shallowest first."""


@dataclass(frozen=True)
class Governors:
    """Governors, and on what they are replayed, as the options of ``dyntick replay`` of the same names have them.

    Raises:
        InputError: neither a governor nor a sweep, or several machines.
    """

    governors: Sequence[str] = ()
    """Governors: ``"menu@6.12"``, a C file, each with ``+PATCH`` for each patch."""
    sweeps: Sequence[str] = ()
    """All values of macros in a governor: ``"mine.c -DMARGIN=0..100:5"``."""
    machine: str | None = None
    """The machine whose idle states and powers are used; None for the recorded states, without energy."""
    qos: Sequence[str] = ()
    """Latency limits to replay with: ``"none"``, ``"20us"``; none of them for the recorded ones only."""
    stand_in: Path | None = None
    """A header for names that the stand-in for the kernel lacks."""
    feedback: bool = False
    """True to delay what follows a choice by what its state takes longer to leave than the recorded one; the energy of
    governors is then null."""

    def __post_init__(self) -> None:
        if not self.governors and not self.sweeps:
            raise InputError('cannot replay: no governor is named; name one, e.g. "menu@6.12", or a sweep', status=2)
        # The program then prints a document for each record on each machine.
        if self.machine is not None and (self.machine == "all" or "," in self.machine):
            text = f"cannot replay on several machines at once (machine {self.machine}): name one, and replay on each in turn"
            raise InputError(text, status=2)

    def options(self) -> list[str]:
        """The options of the command line."""
        several = {"--governor": self.governors, "--sweep": self.sweeps}
        options = [word for option, values in several.items() for value in values for word in (option, value)]
        options += ["--qos", ",".join(self.qos)] if self.qos else []
        single = {"--machine": self.machine, "--stand-in": self.stand_in}
        options += [word for option, value in single.items() if value for word in (option, os.fspath(value))]
        return [*options, "--feedback"] if self.feedback else options


@dataclass(frozen=True)
class Replay:
    """Governors on recorded idle periods."""

    document: DyntickReplay = field(repr=False)
    """All that ``dyntick replay --json`` prints."""

    @cached_property
    def scores(self) -> pa.Table:
        """A row for each governor and latency limit, then for the recorded choices, the oracle and the best static limit;
        the columns are `SCORES`."""
        return pa.Table.from_pylist([_row(one) for one in self.document["results"]], schema=SCORES)


def _row(one: Scored) -> dict[str, object]:
    agreement, energy = one["agreement"], one["energy"]
    row: dict[str, object] = dict(one) | {
        "governor": one["name"],
        "as_recorded": agreement["same"] if agreement else None,
        "energy_j": energy["value"] if energy else None,
        "energy_low_j": energy["low"] if energy else None,
        "energy_high_j": energy["high"] if energy else None,
    }
    return row | {f"latency_{name}": value for name, value in one["latency"].items()}


def replay(*traces: Path, governors: Sequence[str] | Governors, first: int = 0, progress: Progress = False) -> Replay:
    """The score of each governor on the idle periods of all these traces together.

    Args:
        traces: files of ``dyntick record --idle``.
        governors: the governors, or `Governors` with a machine, sweeps and latency limits.
        first: the number of decisions to list in which a governor differs from the first one.

    Raises:
        DyntickError: a trace that cannot be read, a governor that cannot be found or compiled.
    """
    asked = governors if isinstance(governors, Governors) else Governors(governors)
    arguments = ["replay", *asked.options(), "--first", str(first), "--", *traces]
    return Replay(cast(DyntickReplay, program.document(arguments, "dyntick-replay", progress=progress)))
