"""``receipts ship``: what the spool holds, to Kafka."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from elicitation_receipts.checkpointing import Checkpointing
from elicitation_receipts.consumers.metrics import Metrics
from elicitation_receipts.invocation import PRODUCER, Invocation
from elicitation_receipts.producers.recover import recover
from elicitation_receipts.producers.ship import Shipper, create_topic
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.settings import option
from elicitation_receipts.stopping import stop_on_signal
from elicitation_receipts.supervisor import supervised
from elicitation_receipts.telemetry import export_metrics

app = typer.Typer(add_completion=False)

_DAY = 86_400.0


@app.command()
def ship(
    context: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", help="Go on shipping what comes.")] = False,
    create: Annotated[
        bool, typer.Option("--create-topic", help="Create the topic where it does not exist.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds without an answer from Kafka to give up after; not with --follow."
        ),
    ] = 30.0,
    kafka: Annotated[str | None, option("kafka")] = None,
    kafka_topic: Annotated[str | None, option("kafka_topic")] = None,
    spool_keep_days: Annotated[float | None, option("spool_keep_days")] = None,
) -> None:
    """Ship receipts from the home's spool to Kafka, each stream in order.

    A receipt counts as shipped once Kafka has acknowledged it. With --follow checkpoints are
    signed too (see `receipts checkpoint`). SIGTERM lets the batch at hand be finished.
    """
    invocation: Invocation = context.obj
    loaded = invocation.load_settings(
        {"kafka": kafka, "kafka_topic": kafka_topic, "spool_keep_days": spool_keep_days}
    ).settings
    settings = loaded.kafka_settings()
    keep = None if loaded.spool_keep_days is None else loaded.spool_keep_days * _DAY
    home = invocation.home(create=False)
    export_metrics()
    metrics = Metrics()
    with (
        Spool.open(home.path, create=False) as spool,
        stop_on_signal() as stop,
        progress_bar("shipping") as show,
        supervised() as turn,
    ):
        recover(spool, PRODUCER)
        if create:
            create_topic(settings)
        done = 0

        def progress(more: int) -> None:
            nonlocal done
            done += more
            metrics.shipped(more)
            if show is not None:
                show(done, sum(one.next_sequence - one.shipped_next for one in spool.streams()))

        shipper = Shipper(spool, settings, timeout=timeout, keep=keep)
        with Checkpointing(home, loaded).beside() if follow else nullcontext():
            shipped = shipper.run(follow=follow, stop=stop, progress=progress, turn=turn)
    typer.echo(f"shipped {shipped}")
