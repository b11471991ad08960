# SPDX-License-Identifier: GPL-2.0-only
"""The program: where it is, and how a verb is asked for its JSON."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from .errors import KINDS, DyntickError, EnvironmentFault, InputError

Progress = bool | Callable[[str], None]
"""True to print the program's progress on standard error; a function gets each line instead."""

_SECONDS_TO_END = 10.0
# The beginning of the text about an argument that the program refuses before it looks at anything.
_WRONG_ARGUMENT = "error: "


def path() -> Path:
    """The program: of ``$DYNTICK``, of this installation, or of ``$PATH``.

    Raises:
        EnvironmentFault: there is none.
    """
    named = os.environ.get("DYNTICK")
    if named:
        return Path(named)
    for scripts in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        found = Path(scripts) / "dyntick"
        if found.is_file():
            return found
    found_on_path = shutil.which("dyntick")
    if found_on_path is None:
        raise EnvironmentFault(
            "cannot find the program dyntick: it is neither in this installation nor in PATH; "
            "install the package dyntick again, or name the program in DYNTICK",
            status=2,
        )
    return Path(found_on_path)


def cache() -> Path:
    """The program's cache on this machine."""
    named = os.environ.get("DYNTICK_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dyntick"


def sha256() -> str:
    """The hash of the program's file, which decides what a run is."""
    file = path()
    return _sha256(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _sha256(path: Path, changed_ns: int) -> str:
    """The hash of a file as it was changed last; a process of a fleet asks for each trace."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def version() -> str:
    """The version of the program, e.g. ``0.1.0``."""
    return printed(["--version"]).split()[1]


def printed(arguments: Sequence[str | os.PathLike[str]]) -> str:
    """The text that a verb prints.

    Raises:
        EnvironmentFault: the program failed.
    """
    asked = subprocess.run([path(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if asked.returncode != 0:
        raise EnvironmentFault(asked.stderr.strip(), status=asked.returncode)
    return asked.stdout


def document(
    arguments: Sequence[str | os.PathLike[str]],
    wanted: str,
    *,
    command: Sequence[str | os.PathLike[str]] = (),
    progress: Progress = False,
) -> Any:
    """The JSON that a verb prints, whose ``format`` is ``wanted``.

    A comparison that failed and a limit that was exceeded are results: the document is returned. Ctrl-C ends the
    program as on a terminal; what is complete is kept.

    Args:
        command: a command that runs meanwhile. It writes to this process's standard output and standard error, and its
            exit status is no error.

    Raises:
        DyntickError: the program failed; the class tells the kind.
    """
    asked = [os.fspath(argument) for argument in arguments]
    if command:
        ended = _with_command(asked, [os.fspath(word) for word in command], progress)
    else:
        # Behind it are files.
        end = asked.index("--") if "--" in asked else len(asked)
        ended = _ended([*asked[:end], "--json", *asked[end:]], subprocess.PIPE, progress)
    return _judged(ended, wanted)


@dataclass(frozen=True)
class _Ended:
    """The program after its end."""

    printed: bytes
    status: int
    words: Sequence[str]
    """The lines of its standard error."""


def _with_command(asked: Sequence[str], command: Sequence[str], progress: Progress) -> _Ended:
    """Runs a verb whose document comes in a file, because standard output and standard error are the command's, too."""
    with tempfile.TemporaryDirectory(prefix="dyntick-") as folder:
        file = Path(folder) / "document"
        ended = _ended([*asked, "--json", "--output", str(file), "--", *command], None, progress or True)
        return replace(ended, printed=file.read_bytes()) if file.is_file() else ended


def _ended(arguments: Sequence[str], output: int | None, progress: Progress) -> _Ended:
    """Runs the program; ``output`` is its standard output, None for that of this process."""
    command = [str(path()), *arguments]
    words: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        reader = threading.Thread(target=_read_lines, args=(child.stderr, words, progress), daemon=True)
        try:
            # Ctrl-C may come at once. While the reader waits for a line, the pipe cannot be closed before the program ends.
            reader.start()
            printed = b"" if child.stdout is None else child.stdout.read()
            status = child.wait()
        except BaseException:
            _end(child)
            raise
        reader.join()
    return _Ended(printed, status, words)


def _read_lines(stream: IO[bytes], words: list[str], progress: Progress) -> None:
    for raw in stream:
        line = raw.decode(errors="replace").rstrip("\n")
        words.append(line)
        if callable(progress):
            progress(line)
        elif progress:
            print(line, file=sys.stderr, flush=True)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGINT)
    try:
        child.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        child.kill()


def _judged(ended: _Ended, wanted: str) -> Any:
    status = ended.status
    try:
        document = json.loads(ended.printed)
    except ValueError:
        said = "\n".join(ended.words).strip().removeprefix("dyntick: ")
        if status == 2 and said.startswith(_WRONG_ARGUMENT):
            # Behind the first paragraph is how the program is called, which is of no use here.
            raise InputError(said.removeprefix(_WRONG_ARGUMENT).partition("\n\n")[0], status=status) from None
        text = said or f"the program printed nothing, and ended with status {status}"
        if status < 0:
            text = f"a signal ended the program ({signal.Signals(-status).name}): {text}"
        kind = EnvironmentFault if status in (0, 2) or status < 0 else DyntickError
        raise kind(text, status=status) from None
    found = document.get("format")
    if found == "dyntick-failure":
        kind = KINDS.get(document["kind"], DyntickError)
        raise kind(document["text"], status=status, file=document.get("file"), line=document.get("line"))
    if found != wanted:
        raise DyntickError(f"cannot read the program's output: it is {found}, not {wanted}", status=status)
    return document
