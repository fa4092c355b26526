"""SARIF: what was found, as code scanners report it (OASIS SARIF 2.1.0)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from elicitation_receipts import __version__

#: How SARIF calls our severities.
_LEVELS = {"info": "note", "warning": "warning", "error": "error"}


@dataclass(frozen=True, slots=True)
class Alert:
    """``rule``: the finding's name; ``severity``: info, warning or error; ``places``: receipts."""

    rule: str
    severity: str
    message: str
    places: tuple[str, ...] = ()


def write_sarif(alerts: Iterable[Alert], stream: TextIO) -> None:
    """Write one run. A receipt is a logical location: there is no file to point to."""
    alerts = list(alerts)
    run = {
        "tool": {
            "driver": {
                "name": "elicitation-receipts",
                "version": __version__,
                "rules": [{"id": rule} for rule in dict.fromkeys(alert.rule for alert in alerts)],
            }
        },
        "results": [
            {
                "ruleId": alert.rule,
                "level": _LEVELS[alert.severity],
                "message": {"text": alert.message},
                "locations": [
                    {"logicalLocations": [{"fullyQualifiedName": place, "kind": "receipt"}]}
                    for place in alert.places
                ],
            }
            for alert in alerts
        ],
    }
    json.dump({"version": "2.1.0", "runs": [run]}, stream, indent=2)
    stream.write("\n")
