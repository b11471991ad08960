# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of figures by matplotlib, in the colours of the reports."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc

try:
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("cannot draw: matplotlib is not installed; pip install dyntick[plots]") from error

from .errors import InputError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#222222")
"""The report's colours, which those who are colour-blind can tell apart (Okabe and Ito, 2008, and two more)."""

class Picture(Figure):
    """A picture that notebooks show."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


_INCHES_A_CASE = 0.32
_WIDTH = 8.0


def bars(table: pa.Table, figure: str, *, key: str | None = None, cpu: int | None = None) -> Picture:
    """A bar for each case: the figure's sum over CPUs and keys, of several runs the mean, with the range over them.

    Args:
        key: the key alone, e.g. of ``tick_cause`` one cause.
        cpu: the CPU alone.

    Raises:
        InputError: no run has this figure.
    """
    chosen = table.filter(pc.field("figure").cast(pa.string()) == figure)
    if key is not None:
        chosen = chosen.filter(pc.field("key").cast(pa.string()) == key)
    if cpu is not None:
        chosen = chosen.filter(pc.field("cpu") == cpu)
    if chosen.num_rows == 0:
        named = sorted(str(name) for name in pc.unique(table["figure"].cast(pa.string())))
        raise InputError(f"cannot draw {figure}: no run has it; there are {', '.join(named[:20])}", status=2)
    per_run = chosen.group_by(["case", "run"]).aggregate([("value", "sum")])
    by_case = per_run.group_by("case").aggregate(
        [("value_sum", "mean"), ("value_sum", "min"), ("value_sum", "max")]
    )
    rows = by_case.to_pylist()
    means = [row["value_sum_mean"] for row in rows]
    below = [row["value_sum_mean"] - row["value_sum_min"] for row in rows]
    above = [row["value_sum_max"] - row["value_sum_mean"] for row in rows]
    drawn = Picture(figsize=(_WIDTH, 1.2 + _INCHES_A_CASE * len(rows)), layout="constrained")
    axes = drawn.subplots()
    axes.barh([row["case"] for row in rows], means, xerr=[below, above], color=COLOURS[0], ecolor=COLOURS[-1])
    axes.invert_yaxis()
    unit = chosen["unit"][0].as_py()
    of_cpu = "" if cpu is None else f" of CPU {cpu}"
    axes.set_xlabel(f"{figure}{of_cpu}" if unit == "1" else f"{figure}{of_cpu}, {unit}")
    axes.spines[["top", "right"]].set_visible(False)
    return drawn
