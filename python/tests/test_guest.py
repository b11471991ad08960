# SPDX-License-Identifier: GPL-2.0-only
"""A study that is written in Python, in a virtual machine."""

from __future__ import annotations

from pathlib import Path

import dyntick
import pytest

STUDY = dyntick.Study(
    {
        "title": "Ticks of a busy CPU",
        "question": "Does nohz_full= stop the tick of a CPU with one busy task?",
        "defaults": {"kernel": "debian:6.12", "measure": "500ms", "task": [{"cpu": 1, "run": "spin"}]},
        "case": [{"name": "ticking"}, {"name": "quiet", "append": "nohz_full=1 isolcpus=domain,1"}],
        "claim": [
            {
                "text": "The tick stops.",
                "check": [{"case": "quiet", "figure": "ticks_per_s", "cpu": 1, "is": "< 5"}],
            }
        ],
    },
    name="ticks",
)


@pytest.mark.guest
def test_study_of_python_runs_and_is_read_again(tmp_path: Path) -> None:
    lines: list[str] = []
    report = dyntick.run(STUDY, jobs=2, out=tmp_path / "out", progress=lines.append)
    assert report.rulings == {"The tick stops.": ["reproduced"]}
    assert any("quiet" in line for line in lines), lines
    rates = {
        row["case"]: row["value"]
        for row in report.figures.to_pylist()
        if row["figure"] == "ticks_per_s" and row["cpu"] == 1
    }
    assert rates["ticking"] == pytest.approx(250, rel=0.02)
    assert rates["quiet"] < 5
    by_run = [table.to_pylist() for table in (report.figures, dyntick.figures(tmp_path / "out"))]
    one, other = (sorted(rows, key=lambda row: row["run"]) for rows in by_run)
    assert one == other

    again = dyntick.report(STUDY, out=tmp_path / "out")
    assert again.document == report.document
    assert "The tick stops." in again._repr_html_()
    quiet = dyntick.report(STUDY, out=tmp_path / "out", changes=dyntick.Changes(cases=["quiet"]))
    assert [run["case"] for run in quiet.runs] == ["quiet"]
