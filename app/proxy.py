"""``receipts proxy``: stand in front of a Streamable HTTP MCP server and write receipts."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from urllib.parse import SplitResult, urlsplit

import typer

from elicitation_receipts.address import listen_address
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.producers.http.forwarding import is_loopback
from elicitation_receipts.producers.record import Recorded
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Vantage
from elicitation_receipts.settings import Settings, option
from elicitation_receipts.watcher import open_http_watcher

if TYPE_CHECKING:
    from elicitation_receipts.producers.http.proxy import Proxy

app = typer.Typer(add_completion=False)


@app.command()
def proxy(
    context: typer.Context,
    upstream: Annotated[
        str, typer.Option(metavar="URL", help="The MCP server's address, as clients have it now.")
    ],
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Where to listen; port 0: any that is free. Beyond this machine only where you"
            " say so.",
        ),
    ] = "127.0.0.1:0",
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The address at which clients reach this proxy, for OAuth and for names of its"
            " own.",
        ),
    ] = None,
    subject_header: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The header in which a gateway before this proxy names whom it authenticated."
            " Recorded as a keyed reference.",
        ),
    ] = None,
    tenant: Annotated[str | None, option("tenant")] = None,
    environment: Annotated[str | None, option("environment")] = None,
    flow: Annotated[str | None, option("flow")] = None,
    when_full: Annotated[str | None, option("when_full")] = None,
    block_timeout: Annotated[float | None, option("block_timeout")] = None,
    durability: Annotated[str | None, option("durability")] = None,
    policy: Annotated[str | None, option("policy")] = None,
    automatic_below_ms: Annotated[int | None, option("automatic_below_ms")] = None,
    question_meta: Annotated[str | None, option("question_meta")] = None,
    metrics: Annotated[
        bool,
        typer.Option("--metrics", help="Record OpenTelemetry metrics, exported as OTEL_* says."),
    ] = False,
) -> None:
    """Forward to an MCP server and keep receipts of what it asks people.

    Clients connect to the address this prints instead of the server's. Paths, bodies, status
    and end-to-end headers pass unchanged, events one by one. Ends in good order on SIGTERM.
    """
    invocation: Invocation = context.obj
    settings = invocation.load_settings(
        {
            "tenant": tenant,
            "environment": environment,
            "flow": flow,
            "when_full": when_full,
            "block_timeout": block_timeout,
            "durability": durability,
            "policy": policy,
            "automatic_below_ms": automatic_below_ms,
            "question_meta": question_meta,
        }
    ).settings
    place = _Place(upstream, listen, public_url)
    home = invocation.home(create=True)
    if not metrics:
        _serve(home, settings, place, subject_header)
        return
    from elicitation_receipts.consumers.metrics import Metrics
    from elicitation_receipts.telemetry import export_metrics, flush_metrics

    export_metrics(stdout_is_free=False)
    _serve(home, settings, place, subject_header, Metrics().sealed)
    flush_metrics()


class _Place:
    """Where the proxy stands. Raises ``upstream_invalid``, ``listen_invalid`` and so on."""

    def __init__(self, upstream: str, listen: str, public_url: str | None) -> None:
        self.upstream = upstream
        target = _http_url(upstream, "upstream")
        self.path = target.path or "/"
        self.host, self.port = listen_address(listen)
        self.names = {self.host.lower()}
        self.public_origin = None
        if public_url is not None:
            public = _http_url(public_url, "public_url")
            if public.path not in ("", "/", target.path):
                raise UsageError(
                    "public_url_invalid",
                    "--public-url: paths pass unchanged, so give scheme, host and port alone",
                )
            self.names.add((public.hostname or "").lower())
            self.public_origin = f"{public.scheme}://{public.netloc}"

    def address(self, port: int) -> str:
        """Where clients find the server now."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_origin or f"http://{host}:{port}") + self.path


def _http_url(text: str, name: str) -> SplitResult:
    """Never repeats what it was given: it may hold a password."""
    option_name = "--" + name.replace("_", "-")
    try:
        url = urlsplit(text)
        is_good = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        is_good = False
    if not is_good or url.query or url.fragment or url.username is not None:
        raise UsageError(
            f"{name}_invalid",
            f"{option_name} takes http://host:port/path or https://…, without query or password",
        )
    return url


def _serve(
    home: Home,
    settings: Settings,
    place: _Place,
    subject_header: str | None,
    recorded: Recorded | None = None,
) -> None:
    try:
        from yarl import URL

        from elicitation_receipts.producers.http.proxy import Proxy
    except ImportError as error:
        raise UsageError(
            "proxy_not_installed", "install elicitation-receipts[proxy] for `receipts proxy`"
        ) from error
    _allow_many_connections()
    with open_http_watcher(home, settings, Vantage.HTTP, _say, recorded) as watcher:
        served = Proxy(
            URL(place.upstream),
            watcher,
            _say,
            names=place.names,
            public_origin=place.public_origin,
            subject_header=subject_header,
        )
        asyncio.run(_run(served, place, watcher.renew_policy))


def _allow_many_connections() -> None:
    """Each stream takes two files; shells allow few more than a thousand by default."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _run(served: Proxy, place: _Place, renew_policy: Callable[[], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, renew_policy))
    async with served.listening(place.host, place.port) as port:
        if not is_loopback(place.host):
            _say(f"listens on {place.host}: whoever reaches it reaches the server")
        _say(f"proxy at {place.address(port)}")
        await stop.wait()


def _say(text: str) -> None:
    typer.echo(f"receipts: {text}", err=True)
