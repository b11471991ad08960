# SPDX-License-Identifier: GPL-2.0-only
"""Runs as the laboratory stores them, for tests that need no guest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

StoreRun = Callable[..., Path]


@pytest.fixture
def store_run(tmp_path: Path) -> StoreRun:
    """Stores a run of a case with these figures, all of CPU 1 but the last, which is the machine's."""

    def store(case: str, values: dict[str, float], repetition: int = 0, beside: str = "") -> Path:
        folder = tmp_path / "runs" / f"{case.replace('/', '-')}.{repetition}.0123456789ab{beside}"
        folder.mkdir(parents=True)
        plan = {
            "repetition": repetition,
            "release": "6.12.117+deb12-amd64",
            "case": {"id": case, "name": case.partition("/")[0], "variant": case.partition("/")[2], "clock": "virtual"},
        }
        (folder / "run.toml").write_text(tomli_w.dumps(plan))
        rows = len(values)
        table = pa.table(
            {
                "cpu": pa.array([1] * (rows - 1) + [None], pa.int32()),
                "figure": list(values),
                "key": [""] * rows,
                "value": list(values.values()),
                "unit": ["1"] * rows,
            }
        )
        pq.write_table(table, folder / "observations.parquet")
        return folder

    return store
