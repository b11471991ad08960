# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


class Evidence(TypedDict):
    """
    A file, and the part of its content that matters.
    """

    file: str
    """
    The file's path on the machine that was examined.
    """
    value: str
    """
    The value, or the part of it, that was judged.
    """


class Offered1(TypedDict):
    """
    Parameters for the kernel's command line, each in place of all of its name; takes a reboot.
    """

    tried: bool
    """
    True if a guest has shown that it fixes what the rule found.
    """
    kind: Literal['boot']
    text: str


class Offered2(TypedDict):
    """
    A parameter to take off the kernel's command line; takes a reboot.
    """

    tried: bool
    """
    True if a guest has shown that it fixes what the rule found.
    """
    kind: Literal['unboot']
    text: str


class Offered3(TypedDict):
    """
    A shell command, as root; at once, and lost with the next boot.
    """

    tried: bool
    """
    True if a guest has shown that it fixes what the rule found.
    """
    kind: Literal['command']
    text: str


class Offered4(TypedDict):
    """
    Anything else, in words: a change of the program that runs, of a cgroup, of the firmware.
    """

    tried: bool
    """
    True if a guest has shown that it fixes what the rule found.
    """
    kind: Literal['advice']
    text: str


Offered: TypeAlias = Offered1 | Offered2 | Offered3 | Offered4
"""
A fix with its proof.
"""


Reboot = TypedDict(
    'Reboot',
    {
        'kept': list[str],
        'line': str,
        'with': list[str],
        'without': list[str],
    },
)


Severity: TypeAlias = Literal['note', 'warning', 'error']
"""
The weight of a finding.
"""


class Unread(TypedDict):
    """
    The files that could not be read, and the rules that could not be judged without them.
    """

    file: str
    """
    The path, or the pattern of paths.
    """
    needs: str
    """
    The right or mount that a reader needs.
    """
    reason: str
    """
    The reason why they could not be read.
    """
    rules: list[str]
    """
    The rules that read it.
    """


class Finding(TypedDict):
    """
    A finding as it is printed as JSON: its fixes say if they were tried.
    """

    cpus: CpuList
    """
    The affected CPUs; empty if the finding concerns the complete machine.
    """
    effect: str
    """
    The effect on the machine, as far as the kernel's source or a measurement shows it.
    """
    evidence: list[Evidence]
    """
    The files behind the finding.
    """
    fixes: list[Offered]
    """
    The fixes, the best first.
    """
    message: str
    """
    The problem in one sentence without a full stop.
    """
    rule: str
    """
    The rule's id.
    """
    severity: Severity
    """
    The severity on this machine.
    """


class DyntickCheck(TypedDict):
    """
    The result of a check of one machine.
    """

    can_stop_tick: bool | None
    """
    True if the kernel can stop the tick of a CPU that runs a task (CONFIG_NO_HZ_FULL); null if that is not known.
    """
    findings: list[Finding]
    """
    The findings, the worst first.
    """
    format: Literal['dyntick-check']
    isolated: CpuList | None
    """
    The CPUs outside the scheduler's load balancing; null if no file has them.
    """
    judged: CpuList
    """
    The CPUs that were judged.
    """
    kernel: str
    """
    `uname -r`.
    """
    named: bool
    """
    True if the user named them.
    """
    nohz_full: CpuList | None
    """
    The CPUs with adaptive ticks; null if no file has them.
    """
    online: CpuList
    """
    The online CPUs.
    """
    preemption: str | None
    """
    The kernel's preemption model, by its configuration and command line: `none`, `voluntary`, `full`, `lazy` or `PREEMPT_RT`; null if that is not known.
    """
    reboot: Reboot | None
    """
    The command line that fixes all of them together, notes left out.
    """
    refused: list[str]
    """
    The parameters that ask for isolated or adaptive CPUs and have no effect, as written.
    """
    unread: list[Unread]
    """
    The files that could not be read.
    """
    version: Literal[2]
