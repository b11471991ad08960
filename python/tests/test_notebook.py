# SPDX-License-Identifier: GPL-2.0-only
"""The book's notebook, executed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
nbformat = pytest.importorskip("nbformat")
NOTEBOOK = Path(__file__).parents[2] / "docs/src/adaptive-ticks.ipynb"


@pytest.mark.guest
@pytest.mark.skipif(not NOTEBOOK.is_file(), reason="the book is in the sources only")
def test_notebook_answers_its_question(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell["outputs"][-1] for cell in notebook.cells if cell["cell_type"] == "code"]
    shown, ticks, picture, causes = outputs
    assert "<table>" in shown["data"]["text/html"]
    rates = {release.split(".")[1]: rate for release, rate in ast.literal_eval(ticks["data"]["text/plain"])}
    assert rates["1"] < 0.5 and rates["12"] == pytest.approx(1, abs=0.2), rates
    assert "image/png" in picture["data"] or "Figure" in picture["data"]["text/plain"]
    assert "fair-server" in causes["data"]["text/plain"]
