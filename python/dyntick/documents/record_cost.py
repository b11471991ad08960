# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


class DyntickRecordCost(TypedDict):
    """
    The cost of a recording on this machine.
    """

    bytes: int
    """
    The size of its record, bytes.
    """
    calls_off: int
    """
    The same while they are switched off.
    """
    calls_on: int
    """
    The function-call interrupts of these CPUs while these are switched on, each some µs.
    """
    cpus: CpuList
    """
    The CPUs that would be recorded.
    """
    dyntick_ns: int
    """
    The CPU time that dyntick took on other CPUs meanwhile, ns.
    """
    events: int
    """
    The events that were recorded in it.
    """
    format: Literal['dyntick-record-cost']
    seconds: float
    """
    The length of the recording that was measured, s.
    """
    switched: int
    """
    The number of trace events and probes that are switched on.
    """
    version: Literal[1]
