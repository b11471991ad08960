# SPDX-License-Identifier: GPL-2.0-only
"""The errors of the program, with its own words."""

from __future__ import annotations

from collections.abc import Callable


class DyntickError(Exception):
    """An error of the program ``dyntick``; its text names the remedy."""

    def __init__(self, text: str, *, status: int, file: str | None = None, line: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        """The program's message."""
        self.status = status
        """The exit status of the program."""
        self.file = file
        """The file at fault, if it is known."""
        self.line = line
        """The line of that file, from 1."""

    def __reduce__(self) -> tuple[Callable[..., DyntickError], tuple[object, ...]]:
        return _again, (type(self), self.text, self.status, self.file, self.line)


def _again(kind: type[DyntickError], text: str, status: int, file: str | None, line: int | None) -> DyntickError:
    """The error of another process."""
    return kind(text, status=status, file=file, line=line)


class InputError(DyntickError, ValueError):
    """An argument, a study, a record or another file that is wrong."""


class EnvironmentFault(DyntickError):
    """A machine that lacks a tool, a right or a place to write."""


class LimitExceeded(DyntickError):
    """A limit of memory or size beyond which the program does not go."""


class CheckFailed(DyntickError):
    """A check or a comparison that failed without a result."""


KINDS: dict[str, type[DyntickError]] = {
    "input": InputError,
    "environment": EnvironmentFault,
    "limit": LimitExceeded,
    "check": CheckFailed,
}
"""The class of each ``kind`` of a ``dyntick-failure``."""
