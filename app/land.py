"""``receipts land``: receipts into the warehouse, from Kafka or straight from the spool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Annotated

import typer

from elicitation_receipts.checkpointing import Checkpointing
from elicitation_receipts.consumers.landing import Lander, LandingSummary, Warehouse
from elicitation_receipts.consumers.metrics import Metrics
from elicitation_receipts.consumers.retry import retry_rejects
from elicitation_receipts.consumers.source import Source, SpoolSource
from elicitation_receipts.consumers.spans import Spans
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import PRODUCER, Invocation
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.producers.policy.kept import read_kept
from elicitation_receipts.producers.recover import recover
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.settings import Settings, option
from elicitation_receipts.stopping import stop_on_signal
from elicitation_receipts.supervisor import supervised
from elicitation_receipts.telemetry import export_metrics, export_spans

app = typer.Typer(add_completion=False)


@app.command()
def land(
    context: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", help="Go on landing what comes.")] = False,
    retry: Annotated[
        bool,
        typer.Option(
            "--retry-rejects",
            help="Instead, read again what was rejected, and land what can land by now.",
        ),
    ] = False,
    kafka: Annotated[str | None, option("kafka")] = None,
    kafka_topic: Annotated[str | None, option("kafka_topic")] = None,
    kafka_group: Annotated[str | None, option("kafka_group")] = None,
) -> None:
    """Land receipts in the home's DuckDB database, each once.

    They come from Kafka where an address is set, else from this home's spool. With --follow
    checkpoints are signed too (see `receipts checkpoint`). SIGTERM lets the batch at hand be
    finished.
    """
    if retry and follow:
        raise UsageError("options_conflict", "give --retry-rejects or --follow, not both")
    invocation: Invocation = context.obj
    settings = invocation.load_settings(
        {"kafka": kafka, "kafka_topic": kafka_topic, "kafka_group": kafka_group}
    ).settings
    home = invocation.home(create=settings.kafka is not None)
    # To look at each receipt for nobody would take a fifth of the landing's time.
    metrics = Metrics() if export_metrics() else None
    spans = Spans() if export_spans() else None
    warehouse = Warehouse(home.warehouse)
    with (
        stop_on_signal() as stop,
        _source(home, settings) as source,
        progress_bar("landing") as show,
        supervised() as turn,
    ):
        key = open_keyring(home, settings).lander()
        if retry:
            retried = retry_rejects(warehouse, source, key, stop=stop, progress=show)
        else:

            def progress(summary: LandingSummary, remaining: int) -> None:
                if show is not None:
                    show(summary.landed + summary.duplicates + summary.rejected, remaining)

            documents = partial(read_kept, home.policies)
            lander = Lander(warehouse, source, key, metrics, documents, spans)
            with Checkpointing(home, settings).beside() if follow else nullcontext():
                summary = lander.land(follow=follow, stop=stop, progress=progress, turn=turn)
    if retry:
        typer.echo(
            f"landed {retried.landed}, rejected again {retried.rejected}, "
            f"source expired {retried.expired}, of other sources {retried.elsewhere}"
        )
    else:
        typer.echo(
            f"landed {summary.landed}, duplicates {summary.duplicates}, "
            f"rejected {summary.rejected}, breaks {summary.breaks}"
        )


@contextmanager
def _source(home: Home, settings: Settings) -> Iterator[Source]:
    if settings.kafka is None:
        with Spool.open(home.path, create=False) as spool:
            recover(spool, PRODUCER)
            yield SpoolSource(spool)
        return
    from elicitation_receipts.consumers.kafka_source import KafkaSource

    source = KafkaSource(settings.kafka_settings(), settings.kafka_group)
    try:
        yield source
    finally:
        source.close()
