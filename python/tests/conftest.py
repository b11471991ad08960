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
TRACE = """# tracer: nop
 <idle>-0 [001] d..1. 1.000001: cpu_idle: state=2 cpu_id=1
 app-7 [000] d..2. 1.000100: sched_wakeup: comm=other pid=8 prio=120 target_cpu=001
 app-7 [000] d..2. 1.000101: ipi_send_cpu: cpu=1 callsite=resched_curr+0x1 callback=0x0
 <idle>-0 [001] d..1. 1.000105: cpu_idle: state=4294967295 cpu_id=1
 <idle>-0 [001] d.h1. 1.000106: reschedule_entry: vector=253
 <idle>-0 [001] d.h1. 1.000110: local_timer_entry: vector=236
 <idle>-0 [001] d.h1. 1.000112: local_timer_exit: vector=236
 <idle>-0 [001] d.h1. 1.000115: reschedule_exit: vector=253
 app-7 [000] d..2. 1.000200: softirq_raise: vec=9 [action=RCU]
"""
"""CPU 0 interrupts CPU 1, which sleeps, to wake a task; a timer interrupt comes meanwhile."""


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
