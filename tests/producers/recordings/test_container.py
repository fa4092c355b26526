"""Containers: what an Avro library reads from one, and that it is there whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro
import pytest
from sample import receipt
from streams import seal

from elicitation_receipts.producers.recordings.container import ContainerError, write_container
from elicitation_receipts.schemas.codec import encode_datum, schema_text
from elicitation_receipts.schemas.receipt import Receipt

MARKER = b"0123456789abcdef"


def streams() -> list[list[Receipt]]:
    return [[receipt(stream_id) for _ in range(3)] for stream_id in (uuid4(), uuid4())]


def test_an_avro_library_reads_the_sealed_receipts(tmp_path: Path) -> None:
    written = streams()
    path = tmp_path / "receipts.avro"
    write_container(path, written, MARKER)
    with path.open("rb") as file:
        reader = fastavro.reader(file, return_record_name=False)
        data: list[Any] = list(reader)
        assert reader.metadata["avro.schema"] == schema_text()
    for datum in data:
        datum["occurred_at"] = round(datum["occurred_at"].timestamp() * 1_000_000)
    expected = [sealed.message for receipts in written for sealed in seal(receipts)]
    assert [encode_datum(datum) for datum in data] == expected


def test_a_file_replaces_an_older_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "receipts.avro"
    path.write_text("older")

    def breaks_off() -> list[Receipt]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_container(path, (breaks_off() for _ in range(1)), MARKER)
    assert path.read_text() == "older"
    write_container(path, streams(), MARKER)
    assert path.read_bytes().startswith(b"Obj\x01")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContainerError) as raised:
        write_container(tmp_path / "none" / "receipts.avro", streams(), MARKER)
    assert raised.value.reason == "output_unwritable"
