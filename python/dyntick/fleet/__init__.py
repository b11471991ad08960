# SPDX-License-Identifier: GPL-2.0-only
"""Studies and replays on many machines by Ray, which schedules, retries and moves data; ``pip install dyntick[fleet]``.

In virtual time a case is a pure function: the same bytes on any machine that has the same programs. So each case is a
task, and its runs come back as they are.
"""

import sys as _sys

try:
    import ray as _ray
except ImportError as error:
    text = "cannot use a fleet: Ray is not installed; pip install dyntick[fleet]"
    # Python imports this package before `python -m dyntick.fleet` can print an error by itself. Meanwhile argv[0] is "-m".
    if _sys.argv[0] == "-m" and "dyntick.fleet" in _sys.orig_argv:
        print(f"dyntick: {text}", file=_sys.stderr)
        raise SystemExit(2) from None
    raise ImportError(text) from error
del _ray

from .driver import Fleet, FleetReport, Verified, run
from .replays import Replays, replay

__all__ = ["Fleet", "FleetReport", "Replays", "Verified", "replay", "run"]
