"""The door of a live page: it opens to those who know the page's whole address, and to its own page only.

viser answers every request, and the websocket of every page that a browser has open. Its server is therefore started
with a check before its own: each path begins with a token, and a browser's Origin is the Host that it asks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock
from urllib.parse import urlsplit

from vitree.errors import InputError
from vitree.viewer.script import scripted

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request

CLOSED = "This page has an address of its own, which vitree printed or opened; no other is answered.\n"
#: A check of a connection and its request: None, or the answer that refuses it.
Check = Callable[["ServerConnection", "Request"], Any]
#: Two servers that start at the same time would take each other's door.
_LOCK = threading.Lock()


@contextlib.contextmanager
def closed_to_strangers(token: str) -> Iterator[None]:
    """Give the viser server that starts in this block a door with a token.

    Raises an InputError if viser does not start its server in the way that is known, so that it has no door.
    """
    import websockets.asyncio.server as sockets

    usual: Callable[..., object] = sockets.serve
    guarded = []

    def serve(handler: object, *arguments: object, **options: Any) -> object:
        if getattr(handler, "__module__", "").startswith("viser."):
            options["process_request"] = door(token, options["process_request"])
            guarded.append(handler)
        return usual(handler, *arguments, **options)

    with _LOCK, mock.patch.object(sockets, "serve", serve):
        yield
    if not guarded:
        raise InputError("this version of viser cannot be told to answer its own page only; install viser 1.1")


def door(token: str, usual: Check) -> Check:
    """Return a check of requests that asks another one about those with the token."""

    def check(connection: ServerConnection, request: Request) -> object:
        path = request.path.partition("?")[0]
        given, _, rest = path.lstrip("/").partition("/")
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        known = hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
        own = len(hosts) == 1 and (not origins or [urlsplit(origin).netloc for origin in origins] == hosts)
        if not (known and own):
            return connection.respond(403, CLOSED)
        answer = usual(connection, dataclasses.replace(request, path="/" + rest))
        return answer if answer is None else scripted(answer)

    return check
