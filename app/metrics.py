"""``receipts metrics``: what has landed and what waits, for Prometheus to scrape."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final

import typer

from elicitation_receipts.address import listen_address
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.exposition.figures import Figures, read_figures
from elicitation_receipts.schemas.errors import (
    ReceiptsError,
    SpoolError,
    UsageError,
    WarehouseError,
)
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.stopping import stop_on_signal

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from elicitation_receipts.queries.exposition.prometheus import Live

app = typer.Typer(add_completion=False)

#: A scraper waits ten seconds by default; the figures of the last time must reach it sooner.
_WAIT: Final = 3.0
_MISSING: Final = "receipts metrics needs more: pip install 'elicitation-receipts[metrics]'"


@app.command()
def metrics(
    context: typer.Context,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any that is free.")
    ] = "127.0.0.1:9464",
    refresh: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Ask the database anew after so long, when scraped."
        ),
    ] = 15.0,
) -> None:
    """Serve metrics of what has landed, and of the spool as it is, at /metrics for Prometheus.

    Counts only, by mode, carrier, server, client, finding: never a value. Listens on this machine
    alone unless told otherwise: there is no password. Runs until it is stopped.
    """
    invocation: Invocation = context.obj
    home = invocation.home(create=False)
    host, port = listen_address(listen)
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise ReceiptsError("prometheus_missing", _MISSING) from None

    registry = CollectorRegistry()
    registry.register(_Collector(home, refresh))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise UsageError(
            "listen_unavailable", f"cannot listen on {listen} ({error.strerror}); name another"
        ) from error
    typer.echo(f"receipts: metrics at http://{host}:{server.server_port}/metrics", err=True)
    with stop_on_signal() as stop:
        try:
            stop.wait()
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Collector:
    """Takes the figures when scraped. One scrape at a time: others wait for its figures."""

    def __init__(self, home: Home, refresh: float) -> None:
        self._home = home
        self._refresh = refresh
        self._catalogue = Catalogue()
        self._figures: Figures | None = None
        self._taken = -refresh
        self._lock = Lock()

    def describe(self) -> list[Metric]:
        """Nothing: else the registry would scrape once at the start."""
        return []

    def collect(self) -> Iterator[Metric]:
        from elicitation_receipts.queries.exposition.prometheus import families

        with self._lock:
            now = time.monotonic()
            if self._figures is None or now - self._taken >= self._refresh:
                self._read(now)
            yield from families(self._figures, time.monotonic() - self._taken, self._live())

    def _read(self, now: float) -> None:
        """Take new figures; those of before stay where the database is held or not there yet."""
        try:
            with Warehouse(self._home.warehouse, wait=_WAIT).read() as database:
                self._figures = read_figures(self._catalogue, database)
            self._taken = now
        except WarehouseError:
            pass

    def _live(self) -> Live | None:
        from elicitation_receipts.queries.exposition.prometheus import Live

        try:
            with Spool.open(self._home.path, create=False) as spool:
                streams = spool.streams()
                waiting = len(spool.open_questions())
        except SpoolError:
            return None
        return Live(
            spooled=sum(stream.next_sequence for stream in streams),
            unshipped=sum(stream.next_sequence - stream.shipped_next for stream in streams),
            open_questions=waiting,
        )
