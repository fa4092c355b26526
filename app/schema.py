"""``receipts schema``: show the contract, its fingerprint, and check a message against it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elicitation_receipts.schemas.codec import MESSAGE_LIMIT, Schema, decode, schemas, version_of
from elicitation_receipts.schemas.errors import CodecError, ReceiptsError, SchemaError, UsageError

app = typer.Typer(
    help="The contract: the Avro schema of a receipt.", no_args_is_help=True, add_completion=False
)

_Version = Annotated[
    int | None, typer.Option("--version", help="Schema version; without it the newest.")
]


@app.command()
def show(version: _Version = None) -> None:
    """Print a version of the schema as its file has it."""
    typer.echo(_schema(version).text, nl=False)


@app.command()
def fingerprint(version: _Version = None) -> None:
    """Print a version's CRC-64-AVRO fingerprint as it stands in a message, in hexadecimal."""
    typer.echo(_schema(version).fingerprint.hex())


@app.command()
def check(
    file: Annotated[
        str, typer.Argument(help="File with one message (Avro single-object); - reads it in.")
    ],
) -> None:
    """Say whether a message is exactly one receipt; if not (exit code 1), what it is."""
    message = _read(file)
    try:
        receipt = decode(message)
        version = version_of(message)
    except SchemaError:
        raise
    except CodecError as error:
        typer.echo(f"no receipt: {error}")
        raise typer.Exit(1) from None
    typer.echo(
        f"one receipt: schema version {version}, canonical, {len(message)} bytes, "
        f"event {receipt.event}"
    )


def _schema(version: int | None) -> Schema:
    known = schemas()
    wanted = max(known) if version is None else version
    if wanted not in known:
        listed = ", ".join(map(str, known))
        raise UsageError("schema_unknown", f"there is no version {wanted}; known: {listed}")
    return known[wanted]


def _read(file: str) -> bytes:
    longest = MESSAGE_LIMIT + 1  # enough to see that it is too long
    try:
        if file == "-":
            return sys.stdin.buffer.read(longest)
        with Path(file).open("rb") as stream:
            return stream.read(longest)
    except OSError as error:
        raise ReceiptsError("file_unreadable", f"cannot read {file} ({error.strerror})") from error
