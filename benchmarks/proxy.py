"""What the proxy adds to one message, beside a plain proxy on the same library, and many sessions.

`python benchmarks/proxy.py upstream|plain [PORT]` is the other side: a server, a plain proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aiohttp import ClientSession, TCPConnector, web
from measure import Figure, interleaved, percentile

#: A message and an answer that are no elicitation.
_REQUEST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
_ANSWER = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t" * 20}] * 20}}
).encode()


def round_trips(address: str, count: int) -> list[float]:
    """Milliseconds of ``count`` requests on one connection."""
    connection = http.client.HTTPConnection(address)
    fields = {"Content-Type": "application/json", "Mcp-Session-Id": "one"}
    taken = []
    for _ in range(count + 100):
        started = time.perf_counter()
        connection.request("POST", "/mcp", _REQUEST, fields)
        assert connection.getresponse().read() == _ANSWER
        taken.append((time.perf_counter() - started) * 1_000)
    connection.close()
    return taken[100:]  # the first ones pay for starting


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """A server and both proxies before it; their addresses."""
    receipts = [sys.executable, "-m", "elicitation_receipts.main", "--home", str(folder / "proxy")]
    with contextlib.ExitStack() as stack:

        def start(command: list[str]) -> str:
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            )
            stack.callback(process.terminate)
            assert process.stdout
            url = process.stdout.readline().split()[-1].decode()
            return url.removeprefix("http://").removesuffix("/mcp")

        own = [sys.executable, __file__]
        bare = start([*own, "upstream"])
        yield {
            "server": bare,
            "plain_proxy": start([*own, "plain", bare]),
            "proxy": start([*receipts, "proxy", "--upstream", f"http://{bare}/mcp"]),
        }


def figures(folder: Path, count: int, sessions: int, rounds: int) -> list[Figure]:
    """Every figure, the ways in turn."""
    with running(folder) as addresses:
        found = interleaved(
            rounds,
            {
                f"{way}_p{percent}_ms": ("ms", _case(address, count, percent / 100))
                for percent in (50, 99)
                for way, address in addresses.items()
            },
        )
    many = many_sessions(folder, sessions)
    units = {"sessions_s": "s", "session_kib": "KiB", "again_kib": "KiB"}
    return [*found, *(Figure(name, units[name], [value]) for name, value in many.items())]


def _case(address: str, count: int, share: float) -> Callable[[], float]:
    return lambda: percentile(round_trips(address, count), share)


def many_sessions(folder: Path, sessions: int) -> dict[str, float]:
    """Sessions with a question open in each: seconds they took, memory each took in the proxy."""
    from http_sessions import AskingServer, converse

    home = folder / "sessions"
    receipts = [sys.executable, "-m", "elicitation_receipts.main", "--home", str(home)]

    async def run() -> dict[str, float]:
        server = AskingServer()
        async with server.upstream.running(backlog=sessions) as upstream:
            url = f"http://127.0.0.1:{upstream.port}/mcp"
            process = await asyncio.create_subprocess_exec(
                *receipts, "proxy", "--upstream", url, stderr=asyncio.subprocess.PIPE
            )
            assert process.stderr
            port = int((await process.stderr.readline()).split(b":")[-1].split(b"/")[0])
            grown = []

            async def all_open() -> None:
                grown.append(_resident(process.pid))

            started = time.perf_counter()
            try:
                before = _resident(process.pid)
                for _ in range(3):
                    heard = await converse(port, sessions, all_open)
                    assert len(heard) == sessions
            finally:
                process.terminate()
                await process.wait()
            return {
                "sessions_s": (time.perf_counter() - started) / 3,
                "session_kib": (grown[0] - before) / sessions,
                "again_kib": (grown[-1] - grown[0]) / sessions,
            }

    return asyncio.run(run())


def _resident(pid: int) -> float:
    """KiB of memory a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


# The other side


async def _answer(request: web.Request) -> web.Response:
    await request.read()
    return web.Response(body=_ANSWER, content_type="application/json")


def _plain(upstream: str) -> web.Application:
    """Passes on what it gets, and nothing more."""

    async def forward(request: web.Request) -> web.StreamResponse:
        async with request.app["client"].post(
            f"http://{upstream}{request.raw_path}",
            data=await request.read(),
            headers={"Content-Type": "application/json"},
        ) as answer:
            response = web.StreamResponse(status=answer.status, headers=answer.headers)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    async def client(app: web.Application) -> object:
        async with ClientSession(connector=TCPConnector(limit=0)) as app["client"]:
            yield

    app = web.Application()
    app.cleanup_ctx.append(client)
    app.router.add_post("/{path:.*}", forward)
    return app


async def _serve(app: web.Application) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"http://127.0.0.1:{runner.addresses[0][1]}/mcp\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    if sys.argv[1] == "plain":
        app = _plain(sys.argv[2])
    else:
        app = web.Application()
        app.router.add_post("/mcp", _answer)
    asyncio.run(_serve(app))


if __name__ == "__main__":
    main()
