"""``ReceiptsMiddleware``: the one line around a Python server that keeps receipts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elicitation_receipts.invocation import Invocation
from elicitation_receipts.producers.http.asgi import App, Middleware, Subject
from elicitation_receipts.producers.http.watcher import HttpWatcher
from elicitation_receipts.schemas.vocabulary import Vantage
from elicitation_receipts.settings import check_names
from elicitation_receipts.watcher import open_http_watcher

_LOG = logging.getLogger("elicitation_receipts")


class ReceiptsMiddleware(Middleware):
    """Keeps receipts of what an MCP server in Python asks over HTTP, around any ASGI application.

    ::

        app = ReceiptsMiddleware(mcp.streamable_http_app())
        app.add_middleware(ReceiptsMiddleware, path="/mcp")  # Starlette, FastAPI

    ``path``      where MCP is spoken; None: anywhere
    ``subject``   whom the server has authenticated, from a request's scope: recorded as a keyed
                  reference, and what tells users apart; None: the Authorization header does
    ``home``      where receipts go; None: as for `receipts tap`
    ``settings``  as `receipts settings` lists them (``tenant="acme"``); what is not given
                  comes from the environment and ``receipts.toml``

    Raises ``setting_unknown``. Where a setting makes no sense or nothing could be written at
    all, the server does not start. After that no failure of ours stops a message. Each process
    of a server has a watcher of its own: sessions must stay with one, as the server's own do.
    """

    def __init__(
        self,
        app: App,
        *,
        path: str | None = None,
        subject: Subject | None = None,
        home: Path | str | None = None,
        **settings: object,
    ) -> None:
        check_names(settings)

        @contextmanager
        def start() -> Iterator[HttpWatcher]:
            invocation = Invocation.of(None if home is None else Path(home))
            loaded = invocation.load_settings(settings).settings
            opened = invocation.home(create=True)
            with open_http_watcher(opened, loaded, Vantage.ASGI, _LOG.warning) as watcher:
                yield watcher

        super().__init__(app, start, path=path, subject=subject)
