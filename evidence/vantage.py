"""Vantages: further places for what was signed, out of reach of the database's owner.

A place is a directory, ``git:<path>`` (a repository, each time a commit) or
``kafka:<topic>`` (each note a message, its name the key).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from elicitation_receipts.evidence.store import REGISTRY, write_folder
from elicitation_receipts.evidence.text import moment_text
from elicitation_receipts.schemas.errors import EvidenceError, UsageError

if TYPE_CHECKING:
    from elicitation_receipts.schemas.kafka import KafkaSettings  # the client takes a while

_AUTHOR: Final = ("-c", "user.name=elicitation-receipts", "-c", "user.email=receipts@localhost")
_PATIENCE: Final = 30.0


class Vantage(Protocol):
    """A place that keeps what it was given."""

    def put(self, files: Mapping[str, bytes], time: datetime) -> None:
        """Keep notes and keys, by name. Raises :class:`EvidenceError` (``vantage_unwritable``)."""


def vantages(places: str, kafka: KafkaSettings | None) -> list[Vantage]:
    """The vantages of a setting: places, with commas between. Raises ``vantage_unknown``."""
    return [_vantage(place.strip(), kafka) for place in places.split(",") if place.strip()]


def _vantage(place: str, kafka: KafkaSettings | None) -> Vantage:
    kind, colon, where = place.partition(":")
    if not colon:
        return Folder(Path(place).expanduser())
    if kind == "git":
        return Repository(Path(where).expanduser())
    if kind == "kafka" and kafka is not None:
        return Topic(where, kafka)
    raise UsageError(
        "vantage_unknown",
        "a place for checkpoints is a directory, git:PATH, or kafka:TOPIC with Kafka set",
    )


class Folder:
    """A directory, which may be another machine's. Every registry stays, under its time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, files: Mapping[str, bytes], time: datetime) -> None:
        if not self._path.is_dir():
            raise _unwritable(str(self._path), "there is no such directory")
        kept = dict(files)
        kept[f"registries/{_file_time(time)}.note"] = kept.pop(REGISTRY)
        try:
            write_folder(self._path, kept)
        except EvidenceError as error:
            raise _unwritable(str(self._path), str(error.args[0])) from error


class Repository:
    """A git working tree: its history keeps every registry. What pushes it is a hook of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, files: Mapping[str, bytes], time: datetime) -> None:
        if not (self._path / ".git").exists():
            raise _unwritable(str(self._path), "it is no git repository; run `git init` there")
        try:
            write_folder(self._path, files)
        except EvidenceError as error:
            raise _unwritable(str(self._path), str(error.args[0])) from error
        self._git("add", "--", *files)
        self._git(
            *_AUTHOR, "commit", "-q", "-m", f"Checkpoint of {moment_text(time)}", "--", *files
        )

    def _git(self, *arguments: str) -> None:
        try:
            subprocess.run(  # noqa: S603  (nothing in it comes from outside)
                ["git", "-C", str(self._path), *arguments],  # noqa: S607  (the user's own git)
                check=True,
                capture_output=True,
                timeout=_PATIENCE,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _unwritable(str(self._path), f"git {arguments[0]} failed") from error


class Topic:
    """A Kafka topic, other than that of the receipts."""

    def __init__(self, topic: str, settings: KafkaSettings) -> None:
        self._topic = topic
        self._settings = settings

    def put(self, files: Mapping[str, bytes], time: datetime) -> None:  # noqa: ARG002
        from kafka import KafkaProducer  # only here: it takes a while
        from kafka.errors import KafkaError

        try:
            producer = self._settings.connect(KafkaProducer, acks="all")
            try:
                sent = [
                    producer.send(self._topic, content, key=name.encode())
                    for name, content in files.items()
                ]
                for future in sent:
                    future.get(timeout=_PATIENCE)
            finally:
                producer.close(timeout=1)
        except KafkaError as error:
            raise _unwritable(f"the topic {self._topic}", type(error).__name__) from error


def _file_time(time: datetime) -> str:
    return moment_text(time).replace(":", "")


def _unwritable(place: str, why: str) -> EvidenceError:
    return EvidenceError(
        "vantage_unwritable", f"cannot put the checkpoint in {place} ({why}); it is in the home"
    )
