# SPDX-License-Identifier: GPL-2.0-only
"""The table of figures, and its picture."""

from __future__ import annotations

from pathlib import Path

import dyntick
import pytest
from conftest import StoreRun


def test_figures_of_a_folder_are_one_table(store_run: StoreRun, tmp_path: Path) -> None:
    store_run("quiet/one", {"ticks": 3.0, "window_ns": 1e9})
    store_run("quiet/one", {"ticks": 5.0, "window_ns": 1e9}, repetition=1)
    store_run("quiet/one", {"ticks": 9.0, "window_ns": 1e9}, repetition=2, beside=".another-1")
    table = dyntick.figures(tmp_path)
    assert table.schema == dyntick.SCHEMA
    ticks = [row for row in table.to_pylist() if row["figure"] == "ticks"]
    assert [(row["repetition"], row["value"], row["cpu"]) for row in ticks] == [(0, 3.0, 1), (1, 5.0, 1)]
    assert {row["cpu"] for row in table.to_pylist() if row["figure"] == "window_ns"} == {None}
    assert ticks[0] | {"value": 0} == {
        "run": "quiet-one.0.0123456789ab",
        "case": "quiet/one",
        "name": "quiet",
        "variant": "one",
        "kernel": "6.12.117+deb12-amd64",
        "clock": "virtual",
        "repetition": 0,
        "cpu": 1,
        "figure": "ticks",
        "key": "",
        "value": 0,
        "unit": "1",
    }


def test_folder_without_runs_and_damaged_runs_are_named(store_run: StoreRun, tmp_path: Path) -> None:
    with pytest.raises(dyntick.InputError, match="there is no run in it"):
        dyntick.figures(tmp_path)
    run = store_run("a", {"ticks": 1.0})
    (run / "run.toml").write_text("repetition = 0\n")
    with pytest.raises(dyntick.InputError, match=run.name):
        dyntick.figures(tmp_path)
    (run / "observations.parquet").write_bytes(b"PAR1")
    with pytest.raises(dyntick.InputError, match=run.name):
        dyntick.figures([run])


def test_bars_are_means_with_their_range(store_run: StoreRun, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install dyntick[plots]")
    from dyntick import plots

    store_run("a", {"ticks": 2.0, "window_ns": 1.0})
    store_run("a", {"ticks": 4.0, "window_ns": 1.0}, repetition=1)
    store_run("b", {"ticks": 8.0, "window_ns": 1.0})
    table = dyntick.figures(tmp_path)
    axes = plots.bars(table, "ticks").axes[0]
    assert [bar.get_width() for bar in axes.patches] == [3.0, 8.0]
    of_cpu = plots.bars(table, "ticks", cpu=1).axes[0]
    assert (of_cpu.get_xlabel(), len(of_cpu.patches)) == ("ticks of CPU 1", 2)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    with pytest.raises(dyntick.InputError, match="there are ticks, window_ns"):
        plots.bars(table, "tick")
