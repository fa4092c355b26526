"""The demo's server over Streamable HTTP, and what stands in front of it, as processes.

`python http_demo.py [HOME]`: serves on a free port and prints it; with a home behind the
middleware.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def server(home: Path | None = None) -> Iterator[str]:
    """A running server, behind the middleware if there is a home; gives its address."""
    with serving(sys.executable, __file__, *([str(home)] if home else [])) as url:
        yield url


@contextlib.contextmanager
def serving(*command: str) -> Iterator[str]:
    """A server that prints its port once it runs; gives its address."""
    with _running(command, subprocess.PIPE, None) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"


@contextlib.contextmanager
def proxy(home: Path, upstream: str, *options: str) -> Iterator[str]:
    """A running `receipts proxy` before a server; gives its address. It ends in good order."""
    with started_proxy(home, upstream, *options) as (process, url):
        yield url
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


@contextlib.contextmanager
def started_proxy(
    home: Path, upstream: str, *options: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The same, however it ends."""
    receipts = [sys.executable, "-m", "elicitation_receipts.main", "--home", str(home)]
    command = [*receipts, "proxy", "--upstream", upstream, *options]
    with _running(command, None, subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("receipts: proxy at "), line + process.stderr.read()
        yield process, line.split()[-1]


@contextlib.contextmanager
def _running(
    command: Sequence[str], stdout: int | None, stderr: int | None
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(15)
            finally:
                process.kill()
                pipes: list[IO[str] | None] = [process.stdout, process.stderr]
                for pipe in pipes:
                    if pipe is not None:
                        pipe.close()


def main() -> None:
    import asyncio

    from serve_app import serve_app

    from elicitation_receipts import ReceiptsMiddleware
    from elicitation_receipts.demo.server import server as library

    app = library.streamable_http_app()
    if len(sys.argv) > 1:
        app = ReceiptsMiddleware(app, path="/mcp", home=sys.argv[1])  # type: ignore[assignment]
    asyncio.run(serve_app(app))


if __name__ == "__main__":
    main()
