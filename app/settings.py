"""Settings: declared once, given as option, variable or in ``receipts.toml``.

A field of :class:`Settings` is the declaration: from its name, type, default and
help come the option (``--when-full``), the variable (``RECEIPTS_WHEN_FULL``) and the
key in ``receipts.toml`` (``when_full``). Where several give a value, the first of
option, variable, file and default counts.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

import typer

from elicitation_receipts.evidence.ages import is_ages
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.identifiers import OPERATORS, is_identifier, is_tenant

if TYPE_CHECKING:
    from elicitation_receipts.schemas.kafka import KafkaSettings

FILE_NAME: Final = "receipts.toml"
PREFIX: Final = "RECEIPTS_"

_NAME = "a letter, then letters, digits and _.:/-, at most 64 in all"


def _setting(
    default: object,
    help: str,  # noqa: A002  (typer's word for it)
    *,
    secret: bool = False,
    must: tuple[Callable[[Any], bool], str] | None = None,
    kafka_option: bool = False,
    path: bool = False,
) -> Any:
    """A declaration. ``must``: a check and, for people, what passes it.

    ``path``: where it stands in ``receipts.toml`` it is seen from that file's folder.
    """
    metadata = {
        "help": help,
        "secret": secret,
        "must": must,
        "kafka_option": kafka_option,
        "path": path,
    }
    return field(default=default, metadata=metadata)


def _kafka(help: str, *, secret: bool = False) -> Any:  # noqa: A002
    """An option of the Kafka client that is passed through: by variable or file only."""
    return _setting(None, help, secret=secret, kafka_option=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting and its value."""

    tenant: str = _setting(
        "default",
        "Whose receipts these are; each tenant has a stream and keys of its own.",
        must=(
            lambda name: is_tenant(name) and name != OPERATORS,
            f"a lower-case letter or digit, then those and _.-, at most 64 in all, not {OPERATORS}",
        ),
    )
    environment: str | None = _setting(
        None, "Where this runs, such as production.", must=(is_identifier, _NAME)
    )
    flow: str | None = _setting(
        None, "The business flow the questions belong to.", must=(is_identifier, _NAME)
    )
    when_full: Literal["drop", "block", "buffer"] | None = _setting(
        None,
        "Where a receipt cannot be written: drop it and count the loss, block the message, or "
        "buffer the receipt in memory; without: block where the policy enforces, else drop.",
    )
    block_timeout: float = _setting(
        10.0,
        "Seconds a blocked message waits before it is refused.",
        must=(lambda seconds: seconds >= 0, "0 or more"),
    )
    durability: Literal["power", "process"] = _setting(
        "power",
        "What a written receipt survives: loss of power, or only the end of the process (faster).",
    )
    policy: str | None = _setting(
        None,
        "The policy file by which questions are judged; without: the built-in policy, which "
        "observes.",
        path=True,
    )
    automatic_below_ms: int | None = _setting(
        None,
        "An answer sooner than this, in milliseconds, is not counted as a person's; without: "
        "what the policy says.",
        must=(lambda milliseconds: milliseconds >= 0, "0 or more"),
    )
    question_meta: Literal["untouched", "policy"] = _setting(
        "untouched", "Whether to put the policy's id and version into the `_meta` of questions."
    )
    keys_command: str | None = _setting(
        None, "A command that keeps the keys (list, get, make, destroy); without: the key folder."
    )
    checkpoint_every: float = _setting(
        60.0,
        "Seconds between checkpoints, where they are signed at a cadence.",
        must=(lambda seconds: seconds > 0, "more than 0"),
    )
    checkpoint_to: str | None = _setting(
        None,
        "Further places for checkpoints, with commas: a directory, git:PATH, kafka:TOPIC.",
    )
    spool_keep_days: float | None = _setting(
        None,
        "Days to keep receipts in the spool once Kafka has them; without: for ever.",
        must=(lambda days: days >= 0, "0 or more"),
    )
    profile: Literal["operator", "auditor"] = _setting(
        "operator",
        "Whom reports are for: auditor suppresses what tells of few people, operator nothing.",
    )
    suppress_below: int = _setting(
        11,
        "The auditor's reports tell nothing of fewer people than this.",
        must=(lambda count: count >= 2, "2 or more"),
    )
    retention: str | None = _setting(
        None,
        "How long receipts are kept by retention class, as `default=2y payment=7y`; without: for "
        "ever.",
        must=(is_ages, "classes with ages such as 90d, 26w, 7y or never, separated by spaces"),
    )
    kafka: str | None = _setting(
        None, "Kafka's bootstrap servers, host:port and more after commas; without: no Kafka."
    )
    kafka_topic: str = _setting("elicitation.receipts", "The topic receipts go through.")
    kafka_group: str = _setting("elicitation-receipts", "The consumer group of the landers.")
    kafka_client_id: str | None = _kafka("The name the client gives itself.")
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] | None = (
        _kafka("How to talk to the brokers.")
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"] | None = (
        _kafka("How to log in.")
    )
    kafka_sasl_plain_username: str | None = _kafka("User name for PLAIN and SCRAM.")
    kafka_sasl_plain_password: str | None = _kafka("Password for PLAIN and SCRAM.", secret=True)
    kafka_sasl_kerberos_service_name: str | None = _kafka("The brokers' Kerberos service.")
    kafka_sasl_kerberos_domain_name: str | None = _kafka("The brokers' Kerberos domain.")
    kafka_ssl_cafile: str | None = _kafka("File with the certificate authorities to trust.")
    kafka_ssl_certfile: str | None = _kafka("File with our own certificate.")
    kafka_ssl_keyfile: str | None = _kafka("File with our own private key.")
    kafka_ssl_password: str | None = _kafka("Password of our own private key.", secret=True)
    kafka_ssl_crlfile: str | None = _kafka("File with revoked certificates.")

    def kafka_settings(self) -> KafkaSettings:
        """How to reach Kafka. Raises ``kafka_not_set`` where no address is."""
        from elicitation_receipts.schemas.kafka import KafkaSettings  # only here: it takes a while

        if self.kafka is None:
            raise UsageError(
                "kafka_not_set", "no Kafka address: give --kafka host:port or set RECEIPTS_KAFKA"
            )
        options = {
            declared.name.removeprefix("kafka_"): getattr(self, declared.name)
            for declared in declarations().values()
            if declared.kafka_option and getattr(self, declared.name) is not None
        }
        return KafkaSettings(self.kafka, self.kafka_topic, options)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One setting. ``choices``: the only words it takes, where they are listed."""

    name: str
    kind: type[str] | type[int] | type[float]
    choices: tuple[str, ...]
    default: object
    help: str
    secret: bool
    kafka_option: bool
    must: tuple[Callable[[Any], bool], str] | None
    path: bool

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    def parse(self, value: object, where: str, *, from_text: bool) -> object:
        """``value`` as the setting's type; ``from_text``: a variable, all text.

        Raises ``setting_invalid``, which names ``where`` and what it takes, never the value.
        """
        invalid = UsageError("setting_invalid", f"{where} must be {self._takes()}")
        if from_text and isinstance(value, str):
            try:
                value = self.kind(value)
            except ValueError:
                raise invalid from None
        if self.kind is float and type(value) is int:
            value = float(value)
        # `type`, not `isinstance`: `true` in TOML is no number
        if type(value) is not self.kind or (self.choices and value not in self.choices):
            raise invalid
        if self.must and not self.must[0](value):
            raise invalid
        return value

    def _takes(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = {str: "text", int: "a whole number", float: "a number"}[self.kind]
        return f"{kind}: {self.must[1]}" if self.must else kind


@cache
def declarations() -> Mapping[str, Declaration]:
    """Every setting by name."""
    hints = get_type_hints(Settings)
    return {
        declared.name: Declaration(
            name=declared.name,
            **_kind_and_choices(hints[declared.name]),
            default=declared.default,
            **declared.metadata,
        )
        for declared in fields(Settings)
    }


def check_names(names: Iterable[str]) -> None:
    """Raises ``setting_unknown`` for a name that is no setting's."""
    for name in names:
        if name not in declarations():
            raise UsageError(
                "setting_unknown", f"there is no setting {name!r}; `receipts settings` lists all"
            )


def _kind_and_choices(hint: Any) -> dict[str, Any]:
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    if get_origin(hint) is Literal:
        kinds = [hint]
    choices = get_args(kinds[0])
    return {"kind": str if choices else kinds[0], "choices": choices}


def option(name: str) -> Any:
    """The command-line option of a setting, for use in a command's signature.

    The option's own default is None: not given.
    """
    declared = declarations()[name]
    notes = [declared.variable]
    if declared.default is not None:
        notes.append(f"default: {declared.default}")
    return typer.Option(
        declared.option,
        help=f"{declared.help} [{'; '.join(notes)}]",
        metavar="|".join(declared.choices) or None,
        show_default=False,
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each where its value comes from: option, variable, file, default."""

    settings: Settings
    sources: Mapping[str, str]

    def __iter__(self) -> Iterator[tuple[Declaration, object, str]]:
        for declared in declarations().values():
            yield declared, getattr(self.settings, declared.name), self.sources[declared.name]


def load(
    file: Path,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """Settings from ``options`` (None: not given), ``environ`` and ``file``, in this order.

    Raises :class:`UsageError`: ``setting_unknown``, ``setting_invalid``,
    ``settings_unreadable``.
    """
    in_file = _read(file)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name, declared in declarations().items():
        given = (
            ("option", declared.option, (options or {}).get(name)),
            # an empty variable is as good as none
            ("variable", declared.variable, environ.get(declared.variable) or None),
            (FILE_NAME, f"{name} in {file}", in_file.get(name)),
        )
        values[name], sources[name] = declared.default, "default"
        for source, where, value in given:
            if value is not None:
                parsed = declared.parse(value, where, from_text=source == "variable")
                if declared.path and source == FILE_NAME:
                    parsed = str(file.parent / str(parsed))
                values[name], sources[name] = parsed, source
                break
    return Loaded(Settings(**values), sources)


def _read(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            found = tomllib.load(stream)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except tomllib.TOMLDecodeError as error:
        raise UsageError("settings_unreadable", f"{file} is not TOML: {_position(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "settings_unreadable", f"cannot read {file} ({type(error).__name__}); check it"
        ) from error
    for key in found:
        if key not in declarations():
            near = difflib.get_close_matches(key, declarations(), n=1)
            hint = f"did you mean {near[0]}?" if near else "`receipts settings` lists all"
            raise UsageError("setting_unknown", f"{file} has an unknown key {key!r}; {hint}")
    return found


def _position(error: tomllib.TOMLDecodeError) -> str:
    """Where it broke off, without what stands there (it may be a password)."""
    _, _, position = str(error).rpartition("(")
    return position.rstrip(")") if position.startswith("at ") else "it cannot be parsed"
