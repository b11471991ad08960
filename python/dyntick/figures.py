# SPDX-License-Identifier: GPL-2.0-only
"""The figures of stored runs as one Arrow table."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .errors import InputError

_OBSERVATIONS = "observations.parquet"
_PLAN = "run.toml"

_TEXTS = ("run", "case", "name", "variant", "kernel", "clock")
SCHEMA: pa.Schema = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string())) for name in _TEXTS]
    + [("repetition", pa.int32()), ("cpu", pa.int32())]
    + [(name, pa.dictionary(pa.int32(), pa.string())) for name in ("figure", "key")]
    + [("value", pa.float64()), ("unit", pa.dictionary(pa.int32(), pa.string()))]
)
"""The columns: the run's folder; the id, name and variant of its case; the release of its kernel; its clock
(``virtual`` or ``wall``) and its repetition, from 0. Then a row for each figure: its CPU (null for the machine), its
name, its key among several, and its value in its unit (``ns``, ``1/s``, ``1``)."""


def figures(runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> pa.Table:
    """The figures of all runs below a folder, or of these folders of runs, one row each; see `SCHEMA`.

    >>> figures([]).num_rows
    0

    Raises:
        InputError: a folder that is no run's.
    """
    if isinstance(runs, str | os.PathLike):
        folders = _below(Path(runs))
    else:
        folders = [Path(run) for run in runs]
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(_of_run, folders))
    if not parts:
        return SCHEMA.empty_table()
    return pa.concat_tables(parts).unify_dictionaries()


def _below(folder: Path) -> list[Path]:
    """The runs of a study's output, or of a folder of such."""
    found = sorted(file.parent for file in folder.rglob(_OBSERVATIONS))
    if not found:
        raise InputError(f"cannot read {folder}: there is no run in it", status=2, file=str(folder))
    # What was set aside has a name of its own: it is not one of the study's runs any more.
    aside = (".another-", ".damaged-")
    return [run for run in found if not any(mark in run.name for mark in aside)]


@dataclass(frozen=True)
class _Column:
    name: str
    value: Any


def _of_run(folder: Path) -> pa.Table:
    try:
        plan = tomllib.loads((folder / _PLAN).read_text())
        table = pq.ParquetFile(folder / _OBSERVATIONS).read()
        case = plan["case"]
        columns = [
            _Column("run", folder.name),
            _Column("case", case["id"]),
            _Column("name", case["name"]),
            _Column("variant", case.get("variant", "")),
            _Column("kernel", plan["release"]),
            _Column("clock", case["clock"]),
            _Column("repetition", plan["repetition"]),
        ]
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise InputError(f"cannot read the run {folder}: {error}", status=2, file=str(folder)) from error
    rows = table.num_rows
    same = {column.name: _repeated(column, rows) for column in columns}
    own = {name: table.column(name) for name in ("cpu", "figure", "key", "value", "unit")}
    encoded = {name: _encoded(column, SCHEMA.field(name).type) for name, column in own.items()}
    return pa.table(same | encoded, schema=SCHEMA)


def _encoded(column: pa.ChunkedArray[Any], kind: pa.DataType) -> pa.ChunkedArray[Any]:
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)


def _repeated(column: _Column, rows: int) -> pa.Array[Any]:
    kind = SCHEMA.field(column.name).type
    if not pa.types.is_dictionary(kind):
        repeated: pa.Array[Any] = pa.repeat(pa.scalar(column.value, kind), rows)
        return repeated
    indices = pa.repeat(pa.scalar(0, pa.int32()), rows)
    once: pa.Array[Any] = pa.DictionaryArray.from_arrays(indices, pa.array([column.value], pa.string()))
    return once
