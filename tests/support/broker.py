"""A real Apache Kafka broker on this machine: one Java process, loopback only.

As a module it serves the tests; as a program (`python tests/support/broker.py`)
it starts a broker, prints its address and runs until Ctrl-C.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import platformdirs

POM: Final = Path(__file__).parent.parent / "kafka" / "pom.xml"
_STARTS_WITHIN: Final = 60.0
_ENDS_WITHIN: Final = 20.0
_HEAP: Final = ("-Xms256m", "-Xmx512m", "-XX:TieredStopAtLevel=1")


class BrokerError(Exception):
    """No broker can be started here; the message says why."""


class Broker:
    """One broker over one directory, which outlives it: `start` again finds every record.

    ``properties`` are added to the broker's `server.properties`, ``format_options`` to the
    command that prepares its directory.
    """

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        format_options: Sequence[str] = (),
    ) -> None:
        self._directory = directory
        self._classpath = f"{jars()}/*"
        port, controller_port = free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self._settings = directory / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        lines = _settings(directory / "log", port, controller_port)
        for name, value in (properties or {}).items():
            # What begins with a comma goes on where ours ends.
            lines[name] = lines[name] + value if value.startswith(",") else value
        directory.mkdir(parents=True, exist_ok=True)
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        cluster_id = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        # As one word: an id may begin with a hyphen.
        format_ = ["format", f"--cluster-id={cluster_id}", "-c", self._settings, *format_options]
        self._java("kafka.tools.StorageTool", *format_)

    def start(self) -> None:
        """Start and return once connections are accepted, on the same address every time."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                ["java", *_HEAP, "-cp", self._classpath, "kafka.Kafka", str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at a terminal is for us; we then stop it
            )
        host, port = self.address.split(":")
        deadline = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        self.kill()
        raise BrokerError(f"the broker did not start:\n{self._output.read_text()[-2000:]}")

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        self._end(signal.SIGKILL)

    @property
    def _output(self) -> Path:
        return self._directory / "output.log"

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _java(self, *arguments: str | Path) -> None:
        ended = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", self._classpath, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise BrokerError(f"{arguments[0]} failed: {ended.stderr[-1000:]}")


def jars() -> Path:
    """The folder of the broker's jars, fetched once per version into the user's cache."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise BrokerError(f"`{program}` is not installed (Java 17 or newer and Maven)")
    cache = platformdirs.user_cache_path("elicitation-receipts")
    folder = cache / f"kafka-{_version()}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    fetched = Path(tempfile.mkdtemp(prefix="kafka-", dir=cache))
    try:
        ended = subprocess.run(
            [
                "mvn",
                "-q",
                "-B",
                f"--file={POM}",
                "dependency:copy-dependencies",
                f"-DoutputDirectory={fetched}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise BrokerError(f"Maven could not fetch Kafka: {ended.stdout[-1000:]}")
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    finally:
        shutil.rmtree(fetched, ignore_errors=True)
    return folder


def _version() -> str:
    version = ET.parse(POM).findtext(
        ".//m:kafka.version", namespaces={"m": "http://maven.apache.org/POM/4.0.0"}
    )
    assert version is not None
    return version


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [bound.getsockname()[1] for bound in sockets]
    for bound in sockets:
        bound.close()
    return ports


def _settings(log: Path, port: int, controller_port: int) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(log),
        "num.partitions": "4",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        # After a kill the controller, just started anew, waits for the old broker to go.
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
    }


def main() -> None:
    """Run a broker until Ctrl-C; its records live as long as it does."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-") as directory:
        broker = Broker(Path(directory))
        try:
            broker.start()
            print(broker.address, flush=True)
            signal.pause()
        finally:
            broker.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        pass
    except BrokerError as error:
        raise SystemExit(f"no broker: {error}") from None
