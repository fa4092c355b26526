"""The library face: what a server author imports to ask a policy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import elicitation_receipts
from elicitation_receipts import (
    Answers,
    Completion,
    Context,
    DataClass,
    Lifetime,
    Mode,
    Owner,
    Sensitivity,
    Validation,
    decide,
    load_policy,
    screen,
)

QUESTION = {
    "message": "Where shall it run?",
    "requestedSchema": {
        "type": "object",
        "properties": {"region": {"type": "string", "title": "Region"}},
    },
}


def test_a_mode_is_decided_before_a_question_is_built() -> None:
    answers = Answers(
        owner=Owner.EXTERNAL_ORIGIN,
        sensitivity=Sensitivity.SENSITIVE,
        validation=Validation.EXTERNAL_ORIGIN,
        lifetime=Lifetime.SYNCHRONOUS,
        completion=Completion.AUTHENTICATED_STATUS,
    )
    assert decide(answers).choice == "url"
    refused = decide(answers, declared=[Mode.FORM], data_classes=[DataClass.API_KEY])
    assert refused.choice == "blocked"


def test_a_question_is_screened_before_it_is_put(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('id: acme\nversion: "1"\neffective: 2026-11-01\nform: {max_fields: 0}\n')
    assert screen(QUESTION).decision == "allow"
    assert screen(QUESTION, load_policy(file)).findings == ("too_many_fields",)
    asked_of = Context(declared=frozenset({Mode.URL}))
    assert screen(QUESTION, context=asked_of).blocking == ("mode_not_declared",)


def test_every_public_name_is_there_and_costs_nothing_until_asked_for() -> None:
    for name in elicitation_receipts.__all__:
        if not name.startswith("watch"):
            assert getattr(elicitation_receipts, name)
    code = "import sys, elicitation_receipts; print({'yaml', 're2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
