"""``receipts demo``: play every scene through the tap, land, report, and search for leaks."""

from __future__ import annotations

import secrets
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import platformdirs
import typer

from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.consumers.source import Source, SpoolSource
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.render import Format, render
from elicitation_receipts.schemas.errors import HomeError, ReceiptsError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.settings import Settings, option

if TYPE_CHECKING:
    from elicitation_receipts.demo.scenes import Era, Said, Scene
    from elicitation_receipts.schemas.kafka import KafkaSettings

app = typer.Typer(add_completion=False)

#: What is asked at the end, and by what it is split: the carriers tell the two eras apart.
_QUESTIONS: Final = {"completion": ["carrier"], "declines": [], "validation": [], "resume": []}


@app.command()
def demo(
    context: typer.Context,
    kafka: Annotated[str | None, option("kafka")] = None,
    kafka_topic: Annotated[
        str | None,
        typer.Option(help="A topic for the demo alone; without it a new one.", show_default=False),
    ] = None,
) -> None:
    """See the whole path work on a real MCP server and client, and search it for leaks.

    A scripted person answers, in both protocol eras, through the real tap. It takes some ten
    seconds and a new directory (--home names one): your own receipts stay apart.
    """
    _require_sdk()
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    home = _new_home(context.find_root().params["home"], name)
    settings = Invocation(home.path).load_settings({"kafka": kafka}).settings
    topic = kafka_topic or f"{settings.kafka_topic}.demo-{name}"
    through = replace(settings, kafka_topic=topic).kafka_settings() if settings.kafka else None
    if through is not None:
        from elicitation_receipts.producers.ship import create_topic

        create_topic(through)  # first: that a broker does not answer is better known now
    said = _play(home)
    typer.echo()
    if through is None:
        _land_from_spool(home, settings)
    else:
        _land_through_kafka(home, settings, through)
    _report(home)
    typer.echo(f"receipts are in    {home.spool}")
    if through is not None:
        typer.echo(f"and shipped to     {through.topic} at {through.address}")
    typer.echo(f"have landed in     {home.warehouse}")
    typer.echo(f"ask more of them   receipts --home {home.path} report --list\n")
    search = LeakSearch(said.typed | said.read)
    search.folder(home.path)
    if through is not None:
        search.topic(through)
    typer.echo(search.require_nothing())


def _require_sdk() -> None:
    """Raises ``demo_extra_missing`` where the MCP SDK is missing, or of the line before."""
    if find_spec("mcp_types") is None:  # which only the SDK's second line has
        raise ReceiptsError(
            "demo_extra_missing",
            "the demo needs the MCP SDK: pip install 'elicitation-receipts[demo]'",
        )


def _new_home(wanted: Path | None, name: str) -> Home:
    """The demo's home: ``wanted``, else a new directory beside the user's own home."""
    path = wanted or platformdirs.user_data_path("elicitation-receipts-demo") / name
    home = Home.open(path.expanduser().absolute(), create=True)
    if home.spool.exists() or home.warehouse.exists():
        raise HomeError(
            "demo_home_taken",
            f"{home.path} holds receipts already; name a new directory with --home",
        )
    return home


def _play(home: Home) -> Said:
    from elicitation_receipts.demo.scenes import COUNT, play

    server = [sys.executable, "-m", "elicitation_receipts.demo.server"]
    tap = [sys.executable, "-m", "elicitation_receipts.main", "--home", str(home.path), "tap"]
    done = 0
    with (
        progress_bar("asking") as show,
        (home.path / "demo.log").open("w", encoding="utf-8") as log,
    ):

        def on_scene(era: Era, scene: Scene) -> None:
            nonlocal done
            done += 1
            if show is None:
                typer.echo(f"{done:2} of {COUNT}  MCP {era}  {scene.title}")
            else:
                show(done, COUNT - done)

        return play([*tap, "--", *server], log, on_scene)


def _land_from_spool(home: Home, settings: Settings) -> None:
    with Spool.open(home.path, create=False) as spool:
        landed = _land(SpoolSource(spool), home, settings)
    typer.echo(f"landed {landed} receipts from the spool\n")


def _land_through_kafka(home: Home, settings: Settings, kafka: KafkaSettings) -> None:
    from elicitation_receipts.consumers.kafka_source import KafkaSource
    from elicitation_receipts.producers.ship import Shipper

    with Spool.open(home.path, create=False) as spool:
        shipped = Shipper(spool, kafka).run()
    with closing(KafkaSource(kafka)) as source:
        landed = _land(source, home, settings)
    typer.echo(f"shipped {shipped} receipts to Kafka, landed {landed} from there\n")


def _land(source: Source, home: Home, settings: Settings) -> int:
    key = open_keyring(home, settings).lander()
    return Lander(Warehouse(home.warehouse), source, key).land().landed


def _report(home: Home) -> None:
    catalogue = Catalogue()
    with Warehouse(home.warehouse).read() as database:
        for name, by in _QUESTIONS.items():
            asked = " ".join(["receipts report", name, *(f"--by {one}" for one in by)])
            typer.echo(f"{catalogue.questions[name].title} ({asked})")
            render(catalogue.run(database, name, {"by": by}), Format.TABLE, sys.stdout)
