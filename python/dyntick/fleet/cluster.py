# SPDX-License-Identifier: GPL-2.0-only
"""The connection to a Ray cluster."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

import ray
from ray.exceptions import AuthenticationError, RayError

from ..errors import EnvironmentFault, InputError

# Ray itself looks for more than 100 s.
_SECONDS_TO_ANSWER = 5.0


def connect(address: str | None) -> None:
    """Connects to a cluster, if none is connected; None for the one of ``$RAY_ADDRESS``, else one on this machine.

    Raises:
        InputError: an address that Ray does not know.
        EnvironmentFault: no Ray is there, or it does not let this user in.
    """
    if ray.is_initialized():
        return
    named = address or os.environ.get("RAY_ADDRESS")
    _ensure_answer(named)
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, RayError) as error:
        raise EnvironmentFault(f"cannot connect to Ray{_at(named)}: {_reason(error)}", status=2) from error
    except ValueError as error:
        raise InputError(f"cannot connect to Ray{_at(named)}: {error}; name HOST:PORT, ray://HOST:PORT or auto", status=2) from error


def _at(address: str | None) -> str:
    return f" at {address}" if address else ""


def _ensure_answer(address: str | None) -> None:
    """Fails at once where nothing listens."""
    try:
        parts = urlsplit(address if address and "://" in address else f"//{address or ''}")
        place = parts.hostname, parts.port
    except ValueError:
        # Ray says what is wrong with it.
        return
    host, port = place
    if host is None or port is None:
        return
    try:
        socket.create_connection((host, port), _SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise EnvironmentFault(
            f"cannot connect to Ray at {address}: {error.strerror or error}; begin it there by `ray start --head`, "
            "or name no address for the cores of this machine",
            status=2,
        ) from error


def _reason(error: BaseException) -> str:
    """The first line of an error of Ray, and the remedy."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    # Ray keeps the class of some causes, and of others the text only.
    if any(isinstance(one, AuthenticationError) or "AuthenticationError" in str(one) for one in causes):
        return "it was begun with a token; set RAY_AUTH_MODE=token, with which Ray takes yours from ~/.ray/auth_token"
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return f"{first}; begin it by `ray start --head`, or name no address for the cores of this machine"
