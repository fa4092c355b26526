"""JUnit: the outcome of checks as the XML that build servers read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO
from xml.etree import ElementTree as ET


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """``message``: why it failed or was skipped."""

    name: str
    outcome: Outcome
    message: str = ""


def write_junit(suite: str, cases: Iterable[Case], stream: TextIO) -> None:
    """Write one ``testsuite`` with a ``testcase`` for each."""
    cases = list(cases)
    root = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(sum(case.outcome is Outcome.FAILED for case in cases)),
        skipped=str(sum(case.outcome is Outcome.SKIPPED for case in cases)),
    )
    for case in cases:
        element = ET.SubElement(root, "testcase", name=case.name, classname=suite)
        if case.outcome is not Outcome.PASSED:
            ET.SubElement(element, case.outcome.value, message=case.message)
    ET.indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    stream.write(ET.tostring(root, encoding="unicode") + "\n")
