# SPDX-License-Identifier: GPL-2.0-only
"""The package without the libraries of its extras: each says which extra is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def without(library: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python as if a library were not installed."""
    (folder / f"{library}.py").write_text(f"raise ModuleNotFoundError('no {library}')\n")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, *words], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("library", "code", "remedy"),
    [
        ("ray", "from dyntick import fleet", "cannot use a fleet: Ray is not installed; pip install dyntick[fleet]"),
        ("matplotlib", "from dyntick import plots", "cannot draw: matplotlib is not installed; pip install dyntick[plots]"),
        (
            "fsspec",
            "from dyntick.store import Store; Store('s3://a')",
            "cannot use the store s3://a: fsspec is not installed; pip install dyntick[store]",
        ),
    ],
)
def test_missing_library_is_an_error_with_its_extra(library: str, code: str, remedy: str, tmp_path: Path) -> None:
    asked = without(library, tmp_path, "-c", code)
    assert asked.returncode == 1 and asked.stderr.splitlines()[-1].endswith(remedy)


@pytest.mark.parametrize("words", [["--help"], ["run", "adaptive-ticks"], ["replay", "a.dt", "--governor", "menu@6.12"]])
def test_fleet_without_ray_is_one_line(words: list[str], tmp_path: Path) -> None:
    asked = without("ray", tmp_path, "-m", "dyntick.fleet", *words)
    remedy = "dyntick: cannot use a fleet: Ray is not installed; pip install dyntick[fleet]\n"
    assert (asked.returncode, asked.stdout, asked.stderr) == (2, "", remedy)
