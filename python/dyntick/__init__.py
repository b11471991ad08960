# SPDX-License-Identifier: GPL-2.0-only
"""A laboratory for Linux timer ticks, CPU isolation and CPU idle.

The verbs of the program ``dyntick``, which this package contains, as typed functions. The program does the work;
what it prints as JSON is returned as it is, with types made from its schemas (`dyntick.documents`), and the figures
of runs as Arrow tables, which pandas, Polars and DuckDB read without a copy. Keys end in their unit: ``_ns``,
``_per_s``, ``_share``.
"""

from .errors import CheckFailed, DyntickError, EnvironmentFault, InputError, LimitExceeded
from .figures import SCHEMA, figures
from .program import version
from .replays import SCORES, Governors, Replay, replay
from .report import Changes, Report, report, run
from .study import Study
from .verbs import check, compare, doctor, explain, idle, stat

__all__ = [
    "SCHEMA",
    "SCORES",
    "Changes",
    "CheckFailed",
    "DyntickError",
    "EnvironmentFault",
    "Governors",
    "InputError",
    "LimitExceeded",
    "Replay",
    "Report",
    "Study",
    "check",
    "compare",
    "doctor",
    "explain",
    "figures",
    "idle",
    "replay",
    "report",
    "run",
    "stat",
    "version",
]
