"""``receipts replay``: receipts of recorded traffic, at the recorded times."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from elicitation_receipts.invocation import PRODUCER, Invocation
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.policy_in_force import policy_in_force
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.policy.kept import keep
from elicitation_receipts.producers.recordings.container import write_container
from elicitation_receipts.producers.recordings.explain import explain
from elicitation_receipts.producers.recordings.recording import (
    Recording,
    RecordingError,
    find,
    read,
)
from elicitation_receipts.producers.recordings.replay import replay, stream, stream_of
from elicitation_receipts.producers.recordings.seed import Seed
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Clock, Fidelity, Vantage
from elicitation_receipts.settings import Settings, option

app = typer.Typer(add_completion=False)


@app.command("replay")
def replay_command(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Recordings: JSON lines, or HTTP Archives (*.har). A directory stands for every "
            "*.jsonl and *.har in it.",
        ),
    ],
    explained: Annotated[
        bool,
        typer.Option(
            "--explain", help="Write nothing; print what each message left, and why, not a value."
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Derive keys, ids and nonces from this number: the same bytes each time. Only "
            "with --output, never among receipts of live keys."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="With --seed: the file to write, an Avro container, not the home."),
    ] = None,
    tenant: Annotated[str | None, option("tenant")] = None,
    environment: Annotated[str | None, option("environment")] = None,
    flow: Annotated[str | None, option("flow")] = None,
    policy: Annotated[str | None, option("policy")] = None,
    automatic_below_ms: Annotated[int | None, option("automatic_below_ms")] = None,
) -> None:
    """Make receipts of recorded traffic, at the recorded times.

    Each recording gets a stream of its own in the home's spool, with vantage `replay`: reports
    leave such receipts out unless asked for. A recording that is there already is skipped. A
    broken one is named, the others go on, and the exit code is 3.
    """
    invocation: Invocation = context.obj
    settings = invocation.load_settings(
        {
            "tenant": tenant,
            "environment": environment,
            "flow": flow,
            "policy": policy,
            "automatic_below_ms": automatic_below_ms,
        }
    ).settings
    run = _Run(find(files), settings, policy_in_force(settings))
    if explained:
        run.explain()
    elif seed is not None or output is not None:
        run.into_file(*_seeded(seed, output))
    else:
        run.into_home(invocation)
    run.end()


def _seeded(seed: int | None, output: Path | None) -> tuple[Seed, Path]:
    if output is None:
        raise UsageError(
            "seed_with_live_keys",
            "receipts of a seed can be undone by anyone and never go among those of the home's "
            "keys: give --output FILE",
        )
    if seed is None:
        raise UsageError("output_without_seed", "--output needs --seed: a file has no keys")
    return Seed(seed), output


@dataclass
class _Run:
    """One run over recordings, and what became of them."""

    files: Sequence[Path]
    settings: Settings
    policy: Policy
    replayed: int = 0
    receipts: int = 0
    skipped: int = 0
    broken: int = 0

    def explain(self) -> None:
        """Print what each message leaves. The keys are thrown away: nothing is written."""
        keys = Seed(int.from_bytes(os.urandom(32))).keys(self.settings.tenant)

        def print_steps(recording: Recording) -> None:
            typer.echo(recording.path)
            for line in explain(replay(recording, keys, self._post)):
                typer.echo(line)

        for path in self.files:
            self._use(path, print_steps)

    def into_home(self, invocation: Invocation) -> None:
        """Write each recording's stream to the home's spool, once."""
        home = invocation.home(create=True)
        keys = open_keyring(home, self.settings).tenant(self.settings.tenant)
        keep(self.policy, home.policies)
        with Spool.open(home.path) as spool:
            there = {state.stream_id for state in spool.streams()}

            def write(recording: Recording) -> None:
                if stream_of(recording, keys) in there:
                    self.skipped += 1
                    return
                receipts = stream(recording, keys, self._post)
                self._count(receipts, spool.write_stream(receipts))

            self._each(write)
        self._summarize()

    def into_file(self, seed: Seed, output: Path) -> None:
        """Write all streams to one file."""
        keys = seed.keys(self.settings.tenant)
        streams: dict[UUID, list[Receipt]] = {}

        def keep(recording: Recording) -> None:
            receipts = stream(recording, keys, self._post, seed.random(recording.digest))
            is_new = receipts[0].stream_id not in streams
            streams[receipts[0].stream_id] = receipts
            self._count(receipts, is_new)

        self._each(keep)
        write_container(output, streams.values(), seed.random(b"sync marker")(16))
        self._summarize()

    def end(self) -> None:
        """Fail where a recording was broken."""
        if self.broken:
            raise RecordingError(
                "recordings_broken", f"{self.broken} of {len(self.files)} recordings, named above"
            )

    @property
    def _post(self) -> Post:
        return Post(
            policy=self.policy,
            vantage=Vantage.REPLAY,
            fidelity=Fidelity.BYTES,
            producer_name=PRODUCER.name,
            producer_version=PRODUCER.version,
            environment=self.settings.environment,
            flow=self.settings.flow,
            clock=Clock.WALL,
        )

    def _each(self, use: Callable[[Recording], None]) -> None:
        with progress_bar("replaying") as show:
            for done, path in enumerate(self.files, start=1):
                self._use(path, use)
                if show is not None:
                    show(done, len(self.files) - done)

    def _use(self, path: Path, use: Callable[[Recording], None]) -> None:
        try:
            use(read(path))
        except RecordingError as error:
            self.broken += 1
            typer.echo(f"receipts: {error}", err=True)

    def _count(self, receipts: Sequence[Receipt], is_new: bool) -> None:
        if is_new:
            self.replayed += 1
            self.receipts += len(receipts)
        else:
            self.skipped += 1

    def _summarize(self) -> None:
        typer.echo(
            f"replayed {self.replayed}, receipts {self.receipts}, "
            f"there already {self.skipped}, broken {self.broken}"
        )
