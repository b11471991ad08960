# SPDX-License-Identifier: GPL-2.0-only
"""``python -m dyntick.fleet run STUDY`` and ``replay TRACE…``: studies and replays on a Ray cluster."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from ..errors import DyntickError, EnvironmentFault
from ..replays import Governors
from ..report import Changes
from .driver import run
from .replays import replay


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dyntick.fleet", description="Run studies and replays on a Ray cluster")
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("run", help="run a study, each case on a node that can", description=run.__doc__)
    one.formatter_class = argparse.RawDescriptionHelpFormatter
    one.add_argument("study", help="name of `dyntick lab studies`, or a file")
    one.add_argument("--address", help="the cluster, e.g. auto or ray://HOST:10001 [default: this machine]")
    one.add_argument("--out", help="folder for runs and report [default: out/STUDY]")
    one.add_argument("--case", action="append", default=[], help="only cases of this name or id")
    one.add_argument("--kernel", action="append", default=[], help="each case on this kernel, [NAME=]SPEC")
    one.add_argument("--append", action="append", default=[], help="added to the kernel command line")
    one.add_argument("--perturb", type=int, help="further runs of each case with an irrelevant change")
    one.add_argument("--store", help="folder or URL of runs that all nodes share, e.g. s3://bucket/runs")
    one.add_argument("--verify", type=_percent, default=0.0, metavar="5%", help="share of cases to run twice")
    many = verbs.add_parser("replay", help="replay idle governors on many traces, each by itself")
    many.add_argument("traces", nargs="+", metavar="TRACE", help="file that each node reaches, or a URL of fsspec")
    many.add_argument("--address", help="the cluster [default: this machine]")
    many.add_argument("--governor", action="append", default=[], help="see `dyntick replay`, as the next ones")
    many.add_argument("--sweep", action="append", default=[])
    many.add_argument("--machine")
    many.add_argument("--qos", type=_words, default=[])
    many.add_argument("--stand-in")
    many.add_argument("--feedback", action="store_true")
    many.add_argument("--out", default="replay.parquet", help="the scores, as Parquet [default: replay.parquet]")
    return parser.parse_args(words)


def _words(text: str) -> list[str]:
    return text.split(",")


def _percent(text: str) -> float:
    return float(text.removesuffix("%"))


def main(words: Sequence[str] | None = None) -> int:
    """Runs a study or replays; the exit status is that of the program: 1 if a part failed or was not repeatable."""
    given = _arguments(words)
    try:
        return _run(given) if given.verb == "run" else _replay(given)
    except DyntickError as error:
        print(f"dyntick: {error}", file=sys.stderr)
        return error.status


def _run(given: argparse.Namespace) -> int:
    changes = Changes(cases=given.case, kernels=given.kernel, append=given.append, perturb=given.perturb)
    found = run(
        given.study,
        address=given.address,
        changes=changes,
        out=given.out,
        store=given.store,
        verify_percent=given.verify,
    )
    for claim, rulings in found.rulings.items():
        print(f"{', '.join(sorted(set(rulings)))}: {claim}")
    for case, failure in found.failures.items():
        print(f"failed: {case}: {failure}")
    for verified in found.verified:
        unlike = "; ".join(f"{run} differs in {', '.join(files)}" for run, files in verified.differing.items())
        words = verified.failure or unlike or "the same to the byte"
        print(f"run twice, on {' and '.join(verified.hosts)}: {verified.case}: {words}")
    print(f"{len(found.runs)} runs in {found.folder}; {found.core_hours:.2f} core hours")
    unequal = any(verified.differing or verified.failure for verified in found.verified)
    return 1 if found.failures or unequal else 0


def _replay(given: argparse.Namespace) -> int:
    governors = Governors(given.governor, given.sweep, given.machine, given.qos, given.stand_in, given.feedback)
    try:
        # A folder that cannot be written is an error before hours of work.
        with tempfile.TemporaryDirectory(dir=Path(given.out).parent, prefix=".coming-") as beside:
            found = replay(given.traces, governors, address=given.address)
            pq.write_table(found.scores, Path(beside) / "scores")
            os.replace(Path(beside) / "scores", given.out)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {given.out}: {error.strerror}; name another file by --out", status=2) from error
    for trace, failure in found.failures.items():
        print(f"failed: {trace}: {failure}")
    replayed = len(found.scores.column("trace").unique())
    print(f"{replayed} of {replayed + len(found.failures)} traces: {given.out}")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
