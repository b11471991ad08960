# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Check = TypedDict(
    'Check',
    {
        'case': str,
        'cpu': NotRequired[int],
        'figure': str,
        'is': str,
        'minus': NotRequired[str],
        'ratio-to': NotRequired[str],
    },
    closed=True,
)


Compare = TypedDict(
    'Compare',
    {
        'case': str,
        'spans': NotRequired[list[str]],
        'title': NotRequired[str],
        'with': str,
    },
    closed=True,
)


class Effects(TypedDict, closed=True):
    case: str
    """
    the name of one `[[case]]` with a matrix
    """
    figures: list[str]
    """
    the figures, at most 16
    """
    title: NotRequired[str]
    """
    what it shows
    """


Evidence = TypedDict(
    'Evidence',
    {
        'case': str,
        'cpu': NotRequired[int],
        'figure': str,
        'is': NotRequired[str],
        'minus': NotRequired[str],
        'ratio-to': NotRequired[str],
    },
    closed=True,
)


class Kernel(TypedDict, closed=True):
    config: str | list[str]
    """
    fragments by name or path, or one complete configuration by path; later ones win
    """
    patches: NotRequired[str | list[str]]
    """
    patches by name or path, in the order in which they are applied
    """
    source: str
    """
    `debian:6.12`, a tarball, `git:REPOSITORY#REVISION`, or the folder of a source tree
    """


class Labelled(TypedDict, closed=True):
    label: str
    """
    its part of the ids of cases
    """
    value: Any
    """
    the value of the axis's key
    """


Machine = TypedDict(
    'Machine',
    {
        'exit': NotRequired[Literal['table', 'measured', 'distribution']],
        'pre-wake': NotRequired[bool],
        'profile': str,
    },
    closed=True,
)


class Pick(TypedDict, closed=True):
    better: NotRequired[Literal['lower', 'higher']]
    """
    which direction is better
    """
    json: NotRequired[str]
    """
    or a path into JSON, as `jobs.*.read.iops`
    """
    pattern: NotRequired[str]
    """
    a regular expression with one group, the number
    """
    unit: NotRequired[str]
    """
    its unit
    """


PublishedFigure = TypedDict(
    'PublishedFigure',
    {
        'case': str,
        'figure': str,
        'label': str,
        'note': NotRequired[str],
        'our-unit': NotRequired[str],
        'ratio-to': NotRequired[str],
        'unit': str,
        'value': str | float,
    },
    closed=True,
)


Script = TypedDict(
    'Script',
    {
        'cpu': str | int,
        'in-window': NotRequired[bool],
        'run': list[str],
    },
    closed=True,
)


Task = TypedDict(
    'Task',
    {
        'cpu': str | int,
        'partition': NotRequired[Literal['root', 'isolated']],
        'policy': NotRequired[str],
        'run': Literal['spin', 'rcu-free', 'syscall-loop'] | list[str],
        'to-its-end': NotRequired[bool],
    },
    closed=True,
)


Bundle = TypedDict(
    'Bundle',
    {
        'append': NotRequired[str],
        'calls': NotRequired[list[str]],
        'clock': NotRequired[Literal['virtual', 'wall']],
        'cpus': NotRequired[int],
        'disk': NotRequired[str],
        'events': NotRequired[list[str]],
        'exit': NotRequired[Literal['table', 'measured', 'distribution']],
        'figures': NotRequired[dict[str, Pick]],
        'files': NotRequired[list[str]],
        'governor': NotRequired[Literal['menu', 'teo', 'ladder', 'haltpoll']],
        'kernel': NotRequired[str],
        'label': str,
        'machine': NotRequired[str],
        'measure': NotRequired[str],
        'measured-cpus': NotRequired[str | int],
        'memory': NotRequired[str],
        'modules': NotRequired[list[str]],
        'packages': NotRequired[str],
        'perturb': NotRequired[int],
        'pre-wake': NotRequired[bool],
        'profile': NotRequired[bool],
        'read': NotRequired[list[str]],
        'repeat': NotRequired[int],
        'script': NotRequired[Script],
        'settle': NotRequired[str],
        'settle-limit': NotRequired[str],
        'sysctl': NotRequired[dict[str, str | int]],
        'task': NotRequired[list[Task]],
        'timeout': NotRequired[str],
        'tools': NotRequired[list[str]],
        'trace-buffer': NotRequired[str],
        'trace-cpus': NotRequired[str | int],
        'write': NotRequired[dict[str, str | int]],
    },
    closed=True,
)


Matrix = TypedDict(
    'Matrix',
    {
        'append': NotRequired[list[Labelled | str | int]],
        'calls': NotRequired[list[Labelled | str | int]],
        'clock': NotRequired[list[Labelled | str | int]],
        'cpus': NotRequired[list[Labelled | str | int]],
        'disk': NotRequired[list[Labelled | str | int]],
        'events': NotRequired[list[Labelled | str | int]],
        'exit': NotRequired[list[Labelled | str | int]],
        'figures': NotRequired[list[Labelled | str | int]],
        'files': NotRequired[list[Labelled | str | int]],
        'governor': NotRequired[list[Labelled | str | int]],
        'kernel': NotRequired[list[Labelled | str | int]],
        'machine': NotRequired[list[Labelled | str | int]],
        'measure': NotRequired[list[Labelled | str | int]],
        'measured-cpus': NotRequired[list[Labelled | str | int]],
        'memory': NotRequired[list[Labelled | str | int]],
        'modules': NotRequired[list[Labelled | str | int]],
        'packages': NotRequired[list[Labelled | str | int]],
        'perturb': NotRequired[list[Labelled | str | int]],
        'pre-wake': NotRequired[list[Labelled | str | int]],
        'profile': NotRequired[list[Labelled | str | int]],
        'read': NotRequired[list[Labelled | str | int]],
        'repeat': NotRequired[list[Labelled | str | int]],
        'script': NotRequired[list[Labelled | str | int]],
        'settle': NotRequired[list[Labelled | str | int]],
        'settle-limit': NotRequired[list[Labelled | str | int]],
        'sysctl': NotRequired[list[Labelled | str | int]],
        'task': NotRequired[list[Labelled | str | int]],
        'timeout': NotRequired[list[Labelled | str | int]],
        'tools': NotRequired[list[Labelled | str | int]],
        'trace-buffer': NotRequired[list[Labelled | str | int]],
        'trace-cpus': NotRequired[list[Labelled | str | int]],
        'write': NotRequired[list[Labelled | str | int]],
    },
    extra_items='list[Bundle]',
)


Claim = TypedDict(
    'Claim',
    {
        'cannot-tell': NotRequired[str],
        'check': NotRequired[list[Check]],
        'comment': NotRequired[str],
        'evidence': NotRequired[list[Evidence]],
        'only': NotRequired[list[str]],
        'text': str,
    },
    closed=True,
)


class Published(TypedDict, closed=True):
    figures: NotRequired[list[PublishedFigure]]
    """
    the published figures
    """
    source: str
    """
    who, where and when
    """


Settings = TypedDict(
    'Settings',
    {
        'append': NotRequired[str],
        'calls': NotRequired[list[str]],
        'clock': NotRequired[Literal['virtual', 'wall']],
        'cpus': NotRequired[int],
        'disk': NotRequired[str],
        'events': NotRequired[list[str]],
        'exit': NotRequired[Literal['table', 'measured', 'distribution']],
        'figures': NotRequired[dict[str, Pick]],
        'files': NotRequired[list[str]],
        'governor': NotRequired[Literal['menu', 'teo', 'ladder', 'haltpoll']],
        'kernel': NotRequired[str],
        'machine': NotRequired[str],
        'measure': NotRequired[str],
        'measured-cpus': NotRequired[str | int],
        'memory': NotRequired[str],
        'modules': NotRequired[list[str]],
        'packages': NotRequired[str],
        'perturb': NotRequired[int],
        'pre-wake': NotRequired[bool],
        'profile': NotRequired[bool],
        'read': NotRequired[list[str]],
        'repeat': NotRequired[int],
        'script': NotRequired[Script],
        'settle': NotRequired[str],
        'settle-limit': NotRequired[str],
        'sysctl': NotRequired[dict[str, str | int]],
        'task': NotRequired[list[Task]],
        'timeout': NotRequired[str],
        'tools': NotRequired[list[str]],
        'trace-buffer': NotRequired[str],
        'trace-cpus': NotRequired[str | int],
        'write': NotRequired[dict[str, str | int]],
    },
    closed=True,
)


Case = TypedDict(
    'Case',
    {
        'append': NotRequired[str],
        'calls': NotRequired[list[str]],
        'clock': NotRequired[Literal['virtual', 'wall']],
        'cpus': NotRequired[int],
        'disk': NotRequired[str],
        'events': NotRequired[list[str]],
        'exit': NotRequired[Literal['table', 'measured', 'distribution']],
        'figures': NotRequired[dict[str, Pick]],
        'files': NotRequired[list[str]],
        'full-size': NotRequired[Settings],
        'governor': NotRequired[Literal['menu', 'teo', 'ladder', 'haltpoll']],
        'kernel': NotRequired[str],
        'machine': NotRequired[str],
        'matrix': NotRequired[Matrix],
        'measure': NotRequired[str],
        'measured-cpus': NotRequired[str | int],
        'memory': NotRequired[str],
        'modules': NotRequired[list[str]],
        'name': str,
        'packages': NotRequired[str],
        'perturb': NotRequired[int],
        'pre-wake': NotRequired[bool],
        'profile': NotRequired[bool],
        'read': NotRequired[list[str]],
        'repeat': NotRequired[int],
        'script': NotRequired[Script],
        'settle': NotRequired[str],
        'settle-limit': NotRequired[str],
        'sysctl': NotRequired[dict[str, str | int]],
        'task': NotRequired[list[Task]],
        'timeout': NotRequired[str],
        'title': NotRequired[str],
        'tools': NotRequired[list[str]],
        'trace-buffer': NotRequired[str],
        'trace-cpus': NotRequired[str | int],
        'write': NotRequired[dict[str, str | int]],
    },
    closed=True,
)


class DyntickStudy(TypedDict, closed=True):
    case: list[Case]
    """
    the configurations
    """
    claim: NotRequired[list[Claim]]
    """
    what is judged
    """
    compare: NotRequired[list[Compare]]
    """
    cases that are compared in detail, see [Comparisons](#comparisons)
    """
    defaults: NotRequired[Settings]
    """
    any key of a case; a case overrides it
    """
    description: NotRequired[str]
    """
    background that is needed to understand the answer
    """
    effects: NotRequired[list[Effects]]
    """
    what each axis of a matrix does, see [Effects](#effects)
    """
    kernels: NotRequired[dict[str, Kernel]]
    """
    custom kernels, see [Custom kernels](kernels.md)
    """
    machine: NotRequired[Machine]
    """
    `profile`: the machine whose idle states every guest has that names no other; `exit` and `pre-wake` as in a case. See [Machines](machines.md)
    """
    matrix: NotRequired[Matrix]
    """
    expands every case, see [Matrices](#matrices)
    """
    published: NotRequired[Published]
    """
    what others found
    """
    question: str
    """
    what it asks
    """
    title: str
    """
    its title
    """
