"""What only the server can say: proof of a ceremony, whom it talks to, the state it saved."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    MODERN,
    Conversation,
    accept,
    accepted,
    call,
    completion,
    form,
    interim,
    notification,
    result,
    retry,
    success,
    url,
    url_params,
    url_required,
)
from policies import policy_with

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event, FindingName, Proof

OWN_PROOFS = (Proof.AUTHENTICATED_CALLBACK, Proof.STATUS_CHECK)
TICKET = "https://pay.example/start?ticket=1"


def record(talk: Conversation, question: str, proof: Proof = Proof.STATUS_CHECK) -> list[Receipt]:
    """The server records a completion, now."""
    receipts = talk.session.on_completion(question, proof, Moment(1_790_000_010_000_000, 10**7))
    talk.receipts += receipts
    return receipts


def consented(policy: Policy | None = None) -> Conversation:
    """A URL question the person has consented to."""
    talk = Conversation(policy=policy) if policy else Conversation()
    talk.client(call(1))
    talk.server(url(7))
    talk.wait(5)
    talk.client(accept(7))
    return talk


class TestCompletion:
    @pytest.mark.parametrize("proof", OWN_PROOFS)
    def test_completes_with_the_servers_proof(self, proof: Proof) -> None:
        talk = consented()
        record(talk, "ceremony", proof)
        talk.server(success(1))
        assert talk.story[2:] == [f"completed completed by runtime ({proof})", "resumed (success)"]
        assert talk.elicitations == 1

    def test_the_notification_that_tells_of_it_is_no_duplicate(self) -> None:
        talk = consented()
        record(talk, "ceremony")
        assert talk.server(completion()) == []
        talk.server(completion())
        assert talk.story[3:] == ["noted [duplicate_completion]"]

    def test_after_a_notification_it_changes_nothing(self) -> None:
        talk = consented()
        talk.server(completion())
        assert record(talk, "ceremony") == []

    def test_is_enough_where_a_notification_is_not(self) -> None:
        talk = consented(policy_with("defaults", required_proof=Proof.STATUS_CHECK))
        talk.server(completion())
        record(talk, "ceremony", Proof.AUTHENTICATED_CALLBACK)
        assert talk.story[2:] == [
            "noted [proof_insufficient]",
            "completed completed by runtime (authenticated_callback)",
        ]

    def test_is_not_enough_where_the_policy_asks_for_more(self) -> None:
        talk = consented(policy_with("defaults", required_proof=Proof.AUTHENTICATED_CALLBACK))
        record(talk, "ceremony", Proof.STATUS_CHECK)
        assert talk.story[2:] == ["noted [proof_insufficient]"]

    def test_before_the_clients_answer(self) -> None:
        talk = Conversation()
        talk.client(call(1))
        talk.server(url(7))
        record(talk, "ceremony")
        talk.server(success(1))
        assert talk.story[1:] == [
            "completed completed by runtime (status_check)",
            "resumed (success)",
        ]

    def test_an_error_that_asked_is_completed_before_the_retry(self) -> None:
        talk = Conversation()
        talk.client(call(1))
        talk.server(url_required(1, url_params()))
        record(talk, "ceremony")
        talk.client(call(2))
        talk.server(success(2))
        assert talk.story == [
            "requested open",
            "completed completed by runtime (status_check)",
            "resumed (success)",
        ]

    def test_each_round_has_its_own(self) -> None:
        talk = consented()
        record(talk, "ceremony")
        talk.server(url(8))
        talk.client(accept(8))
        talk.server(completion())
        talk.server(completion())
        assert talk.story[-2:] == [
            "completed completed by runtime (server_notification) round 2",
            "noted round 2 [duplicate_completion]",
        ]

    def test_a_url_names_a_question_without_an_id(self) -> None:
        talk = Conversation(MODERN)
        talk.client(call(1))
        talk.server(interim(1, {"pay": url_params(None, TICKET)}, "state"))
        talk.wait(5)
        talk.client(retry(2, {"pay": accepted()}, "state"))
        record(talk, TICKET)
        talk.server(success(2))
        assert talk.story[2:] == [
            "completed completed by runtime (status_check)",
            "resumed (success)",
        ]

    def test_a_url_two_questions_share_names_neither(self) -> None:
        talk = Conversation(MODERN)
        talk.client(call(1))
        talk.server(interim(1, {key: url_params(None, TICKET) for key in ("a", "b")}, "state"))
        record(talk, TICKET)
        assert talk.story[2:] == ["noted [unknown_completion_id]"]
        assert talk.last.elicitation_id is None

    @pytest.mark.parametrize("name", ["another", "https://pay.example/", ""])
    def test_what_names_no_question_is_a_finding(self, name: str) -> None:
        talk = consented()
        record(talk, name)
        assert talk.story[2:] == ["noted [unknown_completion_id]"]

    def test_a_question_that_has_ended_stays_as_it_ended(self) -> None:
        talk = consented()
        talk.close()
        record(talk, "ceremony")
        assert talk.story[2:] == ["abandoned unproven by runtime", "noted [unknown_completion_id]"]

    def test_a_form_is_never_completed(self) -> None:
        talk = Conversation()
        talk.client(call(1))
        talk.server(form(7))
        record(talk, "7")
        assert talk.of(Event.COMPLETED) == []


class TestSubject:
    def test_stands_on_what_follows_as_a_keyed_reference(self) -> None:
        talk = Conversation()
        talk.client(call(1))
        talk.server(form(7))
        talk.session.on_subject("auth0|1834")
        talk.client(accept(7, {"branch": "main"}))
        talk.session.on_subject("auth0|1834")
        talk.server(success(1))
        before, *after = [receipt.subject_ref for receipt in talk.receipts]
        assert before is None
        assert len(set(after)) == 1
        assert after[0] is not None
        assert b"1834" not in after[0].value

    def test_is_equal_for_one_subject_and_differs_for_two(self) -> None:
        assert subject_of("anne") == subject_of("anne") != subject_of("ben")

    def test_an_answer_of_somebody_else_is_a_finding(self) -> None:
        talk = Conversation()
        talk.session.on_subject("anne")
        talk.client(call(1))
        talk.server(form(7))
        talk.session.on_subject("ben")
        talk.wait(5)
        talk.client(accept(7, {"branch": "main"}))
        talk.server(success(1))
        talk.client(call(2))
        talk.server(form(8, "Another?"))
        talk.wait(5)
        talk.client(accept(8, {"branch": "main"}))
        assert list(map(names, talk.of(Event.ANSWERED))) == [
            [FindingName.IDENTITY_MISMATCH],
            [],
        ]


class TestCheckpoint:
    TASK: dict[str, Any] = {"taskId": "t", "status": "working"}  # noqa: RUF012

    def test_stands_in_the_task_of_what_follows(self) -> None:
        talk = Conversation(MODERN)
        talk.client(call(1))
        talk.server(result(1, resultType="task", **self.TASK))
        assert talk.session.on_checkpoint("t", 3)
        asked = interim(0, {"pay": url_params(None)})["result"]["inputRequests"]
        asks = {"taskId": "t", "status": "input_required", "inputRequests": asked}
        talk.server(notification("notifications/tasks", **asks))
        assert talk.session.on_checkpoint("t", 4)
        done = {"taskId": "t", "status": "completed", "result": {"content": []}}
        talk.server(notification("notifications/tasks", **done))
        assert [receipt.task and receipt.task.checkpoint for receipt in talk.receipts] == [3, 4]

    def test_of_an_unknown_task_is_not_taken(self) -> None:
        assert not Conversation().session.on_checkpoint("t", 3)


def subject_of(name: str) -> object:
    talk = Conversation()
    talk.session.on_subject(name)
    talk.client(call(1))
    talk.server(form(7))
    return talk.last.subject_ref


def names(receipt: Receipt) -> list[FindingName]:
    return [finding.name for finding in receipt.findings]
