# SPDX-License-Identifier: GPL-2.0-only
"""Governors on many traces, which lie where each node reaches them."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import ray

from .. import program
from ..errors import DyntickError, EnvironmentFault, InputError
from ..replays import SCORES, Governors, replay as replay_here
from .cluster import connect

COLUMNS: pa.Schema = pa.schema([pa.field("trace", pa.string()), pa.field("failure", pa.string()), *SCORES])
"""The trace, why it could not be replayed (then all that follows is null), and the columns of `SCORES`."""


@dataclass(frozen=True)
class Replays:
    """Governors on many traces."""

    scores: pa.Table
    """The scores on each trace, in the order of the traces; the columns are those of `COLUMNS` but ``failure``."""
    failures: dict[str, str]
    """The error of each trace that could not be replayed, also of those on a node with another build of the program."""


def replay(traces: Iterable[str | os.PathLike[str]], governors: Governors, *, address: str | None = None) -> Replays:
    """Replays governors on each trace by itself, spread over a Ray cluster.

    Ray Data schedules the traces; a node reads a trace where it lies, and only scores are sent.

    Args:
        traces: files that each node reaches by these names, or URLs of fsspec, also of several (``s3://bucket/*.dt``).
        governors: the governors, whose files each node reaches by their names.
        address: the cluster, as for `run`.

    Raises:
        InputError: there is no trace.
        EnvironmentFault: Ray Data is not complete.
    """
    names = [name for trace in traces for name in _matching(os.fspath(trace))]
    if not names:
        raise InputError("cannot replay: no trace is named", status=2)
    # It takes pandas, for which a node that runs cases has no use.
    try:
        import ray.data
    except ImportError as error:
        text = f"cannot replay on a fleet: Ray Data is not complete ({error}); pip install dyntick[fleet]"
        raise EnvironmentFault(text, status=2) from error

    connect(address)
    own = program.sha256()
    work = ray.data.from_arrow(pa.table({"trace": names})).repartition(len(names))
    scored = work.map_batches(cast(Any, _replayed), batch_format="pyarrow", fn_args=(governors, own))
    table = pa.concat_tables([COLUMNS.empty_table(), *ray.get(scored.to_arrow_refs())])
    order = {name: at for at, name in enumerate(names)}
    rows = pa.array([order[name] for name in _texts(table, "trace")], pa.int64())
    table = table.take(pc.sort_indices(rows))
    failed = table.filter(pc.is_valid(table.column("failure")))
    failures = dict(zip(_texts(failed, "trace"), _texts(failed, "failure"), strict=True))
    scores = table.filter(pc.is_null(table.column("failure"))).drop_columns(["failure"])
    return Replays(scores, failures)


def _matching(name: str) -> list[str]:
    """The traces of a URL with a pattern; any other name is one."""
    if "://" not in name or "*" not in name:
        return [name]
    import fsspec

    files, pattern = fsspec.url_to_fs(name)
    return [files.unstrip_protocol(found) for found in files.glob(pattern)]


def _replayed(batch: pa.Table, governors: Governors, sha256: str) -> pa.Table:
    """The work of a node; ``sha256`` is that of the driver's program."""
    tables = [_of_trace(name, governors, sha256) for name in _texts(batch, "trace")]
    return pa.concat_tables([COLUMNS.empty_table(), *tables])


def _texts(table: pa.Table, column: str) -> list[str]:
    return cast(list[str], table.column(column).to_pylist())


def _of_trace(name: str, governors: Governors, sha256: str) -> pa.Table:
    try:
        if program.sha256() != sha256:
            raise EnvironmentFault(
                f"cannot replay on {socket.gethostname()}: its {program.path()} is another build of dyntick; "
                "install the same wheel on each node",
                status=2,
            )
        scores = _scores(name, governors)
    except (DyntickError, OSError) as error:
        return pa.Table.from_pylist([{"trace": name, "failure": str(error)}], schema=COLUMNS)
    same = {"trace": pa.repeat(pa.scalar(name), len(scores)), "failure": pa.nulls(len(scores), pa.string())}
    return pa.table(same | {column: scores.column(column) for column in SCORES.names}, schema=COLUMNS)


def _scores(name: str, governors: Governors) -> pa.Table:
    if "://" not in name:
        return replay_here(name, governors=governors).scores
    import fsspec

    with tempfile.TemporaryDirectory(prefix="dyntick-") as folder:
        here = Path(folder) / os.path.basename(name)
        fsspec.url_to_fs(name)[0].get_file(name, here)
        return replay_here(here, governors=governors).scores
