# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


Format: TypeAlias = Literal['text', 'list', 'mask']
"""
The format of a value in a kernel file. Two texts of the same value may differ.
"""


PartitionKind: TypeAlias = Literal['isolated', 'root']
"""
The kind of a cpuset partition.
"""


Subject: TypeAlias = Literal[
    'partition',
    'threads',
    'interrupts',
    'workqueues',
    'watchdog',
    'vm-stat',
    'numa-balancing',
    'machine-check',
    'packet-steering',
    'idle-states',
    'fair-server',
    'rcu',
    'trace',
]
"""
A group of changes with one purpose.
"""


class PlannedChange1(TypedDict):
    """
    A file with one value.
    """

    needs: str
    """
    The privilege that it needs.
    """
    subject: Subject
    """
    The group of changes that it belongs to.
    """
    why: str
    """
    The purpose of that group.
    """
    change: Literal['setting']
    format: Format
    """
    The format of its value.
    """
    new: str
    """
    Its value during the isolation; the same as `old` if only the restoration matters.
    """
    old: str
    """
    Its value before.
    """
    path: str
    """
    The file.
    """
    via: NotRequired[str | None]
    """
    A value to write before `old` when restoring, for hidden state of the kernel: the CPU that an interrupt goes to, the workers of a queue.
    """


class PlannedChange2(TypedDict):
    """
    The affinity of a thread.
    """

    needs: str
    """
    The privilege that it needs.
    """
    subject: Subject
    """
    The group of changes that it belongs to.
    """
    why: str
    """
    The purpose of that group.
    """
    change: Literal['affinity']
    comm: str
    """
    Its name.
    """
    follows: NotRequired[bool]
    """
    True for an interrupt thread, which follows its interrupt: it is not moved, but restored if a partition has widened it.
    """
    new: CpuList
    """
    Its CPUs during the isolation; the same as `old` if only the kernel might change it.
    """
    old: CpuList
    """
    Its CPUs before.
    """
    start: int
    """
    Its start, in clock ticks since boot; together with the ID it identifies one thread.
    """
    tid: int
    """
    Its thread ID.
    """


class PlannedChange3(TypedDict):
    """
    The cpuset controller, made available to the children of a control group.
    """

    needs: str
    """
    The privilege that it needs.
    """
    subject: Subject
    """
    The group of changes that it belongs to.
    """
    why: str
    """
    The purpose of that group.
    """
    change: Literal['controller']
    path: str
    """
    The group's `cgroup.subtree_control`.
    """


class PlannedChange4(TypedDict):
    """
    A control group that is a cpuset partition.
    """

    needs: str
    """
    The privilege that it needs.
    """
    subject: Subject
    """
    The group of changes that it belongs to.
    """
    why: str
    """
    The purpose of that group.
    """
    change: Literal['partition']
    cpus: CpuList
    """
    Its CPUs.
    """
    folder: str
    """
    Its folder.
    """
    kind: PartitionKind
    """
    Its kind.
    """
    origin: str
    """
    The group of the command, which also receives its remaining processes.
    """


class PlannedChange5(TypedDict):
    """
    Folders that another program makes and fills, and that are removed: instances of tracefs.
    """

    needs: str
    """
    The privilege that it needs.
    """
    subject: Subject
    """
    The group of changes that it belongs to.
    """
    why: str
    """
    The purpose of that group.
    """
    change: Literal['folders']
    prefix: str
    """
    The common beginning of their paths.
    """


PlannedChange: TypeAlias = (
    PlannedChange1 | PlannedChange2 | PlannedChange3 | PlannedChange4 | PlannedChange5
)
"""
One change.
"""


class DyntickIsolateChanges(TypedDict):
    """
    The changes that isolating would make.
    """

    changes: list[PlannedChange]
    """
    Each change, in the order in which they are made.
    """
    cpus: CpuList
    """
    The CPUs that would be isolated.
    """
    format: Literal['dyntick-isolate-changes']
    no_partition: str | None
    """
    The reason why the CPUs cannot be a cpuset partition, if they cannot.
    """
    notes: list[str]
    """
    Further notes.
    """
    version: Literal[1]
