"""The closed vocabularies of a receipt: every word that may stand in one.

Each enumeration equals, symbol for symbol, the Avro enum of the same name in
``receipt_v1.avsc`` (a test compares them). The Avro enums have one symbol more,
``unrecognized``, as their default: it is what a *foreign* reader with an older
schema is given for a word it does not know. We never write it and refuse to
read it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

UNRECOGNIZED: Final = "unrecognized"


class Event(StrEnum):
    """What a receipt records. A receipt is one event; state derives from events."""

    # Life of an elicitation
    REQUESTED = "requested"  # a question was put; always first
    REFUSED = "refused"  # stopped before a person could answer
    ANSWERED = "answered"  # accept, decline or cancel arrived
    COMPLETED = "completed"  # proven complete (URL mode), with the kind of proof
    RESUMED = "resumed"  # the originating request went on
    EXPIRED = "expired"  # the time a policy or task gave ran out
    ABANDONED = "abandoned"  # the question ended without an answer
    # Life of a stream
    STREAM_OPENED = "stream_opened"
    STREAM_CLOSED = "stream_closed"
    POLICY_LOADED = "policy_loaded"
    NOTED = "noted"  # a finding without an event of its own
    LOST = "lost"  # receipts that could not be written: how many, since when, why
    # Acts of operators
    KEY_ROTATED = "key_rotated"
    KEY_DESTROYED = "key_destroyed"
    HOLD_SET = "hold_set"
    HOLD_LIFTED = "hold_lifted"
    SEGMENT_SEALED = "segment_sealed"
    SEGMENT_DROPPED = "segment_dropped"
    LOOKED_UP = "looked_up"
    REPORTED = "reported"
    EXPORTED = "exported"


class Carrier(StrEnum):
    """How the protocol carried the question to the client."""

    SERVER_REQUEST = "server_request"  # 2025-06-18, 2025-11-25: `elicitation/create` request
    URL_REQUIRED_ERROR = "url_required_error"  # 2025-11-25: error -32042
    MULTI_ROUND_TRIP = "multi_round_trip"  # 2026-07-28: InputRequiredResult and retry
    TASK = "task"  # a task in status `input_required`


class Mode(StrEnum):
    """The policy's word for how a person is asked."""

    FORM = "form"
    URL = "url"
    TASK_INPUT = "task_input"
    UNKNOWN = "unknown"  # a mode the protocol does not know


class Presentation(StrEnum):
    """What the person saw."""

    FORM = "form"
    URL = "url"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """The action in the client's answer, if it is one of the protocol's three."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class Outcome(StrEnum):
    """Where the elicitation stands after the event. Absent: the event changed nothing."""

    OPEN = "open"
    CONSENTED = "consented"  # URL accepted: consent to open an address, nothing more
    ACCEPTED = "accepted"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    INVALID = "invalid"  # accepted with content its schema refuses
    COMPLETED = "completed"
    UNSUPPORTED = "unsupported"
    ERRORED = "errored"
    BLOCKED = "blocked"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    ABANDONED = "abandoned"
    UNPROVEN = "unproven"  # consented and never proved complete
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"

    @property
    def is_terminal(self) -> bool:
        """Ended for its round. ``invalid`` ends with its operation or connection, not by itself."""
        return self not in (Outcome.OPEN, Outcome.CONSENTED, Outcome.INVALID)


class DecidedBy(StrEnum):
    """Who brought the outcome about, as far as the wire can tell. A claim is never a proof."""

    PERSON_CLAIMED = "person_claimed"
    AUTOMATIC_SUSPECTED = "automatic_suspected"
    POLICY = "policy"
    RUNTIME = "runtime"
    UNKNOWN = "unknown"


class Proof(StrEnum):
    """What shows that a URL ceremony was completed, weakest first."""

    SERVER_NOTIFICATION = "server_notification"
    OPERATION_RESULT = "operation_result"
    STATUS_CHECK = "status_check"
    AUTHENTICATED_CALLBACK = "authenticated_callback"


class OperationResult(StrEnum):
    """How the originating request ended."""

    SUCCESS = "success"
    TOOL_ERROR = "tool_error"  # a result with `isError`
    ERROR = "error"  # a JSON-RPC error


class Decision(StrEnum):
    """What the policy decided about the question."""

    ALLOW = "allow"
    WARN = "warn"
    BLOCK = "block"
    NOT_EVALUATED = "not_evaluated"


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Gate(StrEnum):
    """Which promotion gate a finding belongs to."""

    HARD = "hard"
    PROTOCOL = "protocol"
    RECOVERY = "recovery"
    UX = "ux"


class Identity(StrEnum):
    """How the names and versions of server and client are known."""

    SELF_REPORTED = "self_reported"
    AUTHENTICATED = "authenticated"


class Vantage(StrEnum):
    """Where the watcher stood."""

    STDIO = "stdio"
    HTTP = "http"
    ASGI = "asgi"
    STREAM = "stream"
    REPLAY = "replay"
    SERVER = "server"


class Fidelity(StrEnum):
    """Whether the watcher saw the bytes or what a parser made of them."""

    BYTES = "bytes"
    PARSED = "parsed"


class Clock(StrEnum):
    """Which clock measured ``since_previous_us``."""

    MONOTONIC = "monotonic"
    WALL = "wall"


class TaskStatus(StrEnum):
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RedactionStatus(StrEnum):
    APPLIED = "applied"
    FAILED = "failed"  # nothing derived from content stands in the receipt


class LossReason(StrEnum):
    """Why receipts could not be written."""

    DISK_FULL = "disk_full"
    READ_ONLY = "read_only"
    SPOOL_LOCKED = "spool_locked"
    SPOOL_UNAVAILABLE = "spool_unavailable"
    KEY_UNAVAILABLE = "key_unavailable"
    HOME_UNAVAILABLE = "home_unavailable"
    BUFFER_FULL = "buffer_full"
    WATCHER_FAULT = "watcher_fault"
    CRASHED = "crashed"


class ReferenceKind(StrEnum):
    """What a keyed correlation reference stands for."""

    QUESTION_ID = "question_id"  # JSON-RPC id of an `elicitation/create` request
    OPERATION_REQUEST_ID = "operation_request_id"  # JSON-RPC id of the originating request
    ELICITATION_ID = "elicitation_id"  # `elicitationId` of 2025-11-25
    REQUEST_KEY = "request_key"  # key in `inputRequests`
    REQUEST_STATE = "request_state"
    TASK_ID = "task_id"
    SESSION_ID = "session_id"
    EVENT_ID = "event_id"


class Keyword(StrEnum):
    """The failing JSON Schema keyword of a field. Never the value, never the validator's words."""

    TYPE = "type"
    ENUM = "enum"
    CONST = "const"
    FORMAT = "format"
    PATTERN = "pattern"
    MIN_LENGTH = "minLength"
    MAX_LENGTH = "maxLength"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    EXCLUSIVE_MINIMUM = "exclusiveMinimum"
    EXCLUSIVE_MAXIMUM = "exclusiveMaximum"
    MULTIPLE_OF = "multipleOf"
    MIN_ITEMS = "minItems"
    MAX_ITEMS = "maxItems"
    UNIQUE_ITEMS = "uniqueItems"
    ITEMS = "items"
    CONTAINS = "contains"
    REQUIRED = "required"
    PROPERTIES = "properties"
    ADDITIONAL_PROPERTIES = "additionalProperties"
    PROPERTY_NAMES = "propertyNames"
    MIN_PROPERTIES = "minProperties"
    MAX_PROPERTIES = "maxProperties"
    DEPENDENT_REQUIRED = "dependentRequired"
    ONE_OF = "oneOf"
    ANY_OF = "anyOf"
    ALL_OF = "allOf"
    NOT = "not"
    OTHER = "other"


class FindingName(StrEnum):
    """Something about the question, the answer or the traffic that a gate looks at."""

    # hard
    SECRET_FIELD = "secret_field"  # noqa: S105  (a finding's name)
    DATA_CLASS_PROHIBITED = "data_class_prohibited"
    APPROVAL_AS_FIELD = "approval_as_field"
    REDACTION_FAILED = "redaction_failed"
    CREDENTIAL_IN_URL = "credential_in_url"
    CONTENT_ON_URL_ANSWER = "content_on_url_answer"
    CONTENT_ON_REFUSAL = "content_on_refusal"
    ARGUMENTS_CHANGED = "arguments_changed"
    IDENTITY_MISMATCH = "identity_mismatch"
    VALUE_LEAKED_IN_ERROR = "value_leaked_in_error"
    # protocol
    BEFORE_INITIALIZED = "before_initialized"
    MODE_NOT_DECLARED = "mode_not_declared"
    MODE_NOT_ALLOWED = "mode_not_allowed"
    OVERSIZED_MESSAGE = "oversized_message"
    NO_ORIGINATING_REQUEST = "no_originating_request"
    UNKNOWN_MODE = "unknown_mode"
    MIXED_MODE_MEMBERS = "mixed_mode_members"
    MISSING_MESSAGE = "missing_message"
    MISSING_ELICITATION_ID = "missing_elicitation_id"
    MISSING_REQUESTED_SCHEMA = "missing_requested_schema"
    SCHEMA_OFF_SUBSET = "schema_off_subset"
    EMPTY_SCHEMA = "empty_schema"
    DUPLICATE_ID = "duplicate_id"
    ID_NOT_VERBATIM = "id_not_verbatim"
    ID_REUSED_ON_RETRY = "id_reused_on_retry"
    UNKNOWN_RESPONSE_ID = "unknown_response_id"
    DUPLICATE_MEMBER = "duplicate_member"
    BATCH_ARRAY = "batch_array"
    MALFORMED_MESSAGE = "malformed_message"
    ERROR_ANSWER = "error_answer"
    ACCEPT_SCHEMA_MISMATCH = "accept_schema_mismatch"
    UNASKED_FIELD = "unasked_field"
    UNKNOWN_RESPONSE_KEY = "unknown_response_key"
    MISSING_RESPONSE = "missing_response"
    STATE_NOT_ECHOED = "state_not_echoed"
    STATE_INVENTED = "state_invented"
    UNKNOWN_COMPLETION_ID = "unknown_completion_id"
    RETIRED_CODE = "retired_code"
    UNKNOWN_ACTION = "unknown_action"
    # recovery
    ANSWER_NOT_DELIVERED = "answer_not_delivered"
    PROOF_INSUFFICIENT = "proof_insufficient"
    RECEIPT_FIELD_MISSING = "receipt_field_missing"
    STATE_REUSED = "state_reused"
    DUPLICATE_ANSWER = "duplicate_answer"
    ANSWER_AFTER_END = "answer_after_end"
    DUPLICATE_COMPLETION = "duplicate_completion"
    DUPLICATE_EFFECT = "duplicate_effect"
    UNANSWERED = "unanswered"
    TASK_EXPIRED = "task_expired"
    RESUME_WITHOUT_ANSWER = "resume_without_answer"
    # ux
    URL_IN_TEXT = "url_in_text"
    URL_NOT_HTTPS = "url_not_https"
    URL_SCHEME = "url_scheme"
    URL_USERINFO = "url_userinfo"
    URL_PUNYCODE = "url_punycode"
    URL_MIXED_SCRIPT = "url_mixed_script"
    URL_IP_LITERAL = "url_ip_literal"
    URL_ORIGIN_NOT_ALLOWED = "url_origin_not_allowed"
    REASK_LOOP = "reask_loop"
    REASK_AFTER_REFUSAL = "reask_after_refusal"
    REASK_AFTER_ACCEPT = "reask_after_accept"
    IMPLAUSIBLE_LATENCY = "implausible_latency"
    NEEDLESS_QUESTION = "needless_question"
    TOO_MANY_FIELDS = "too_many_fields"
    VALUE_LIMIT = "value_limit"
    MISSING_DESCRIPTION = "missing_description"

    @property
    def gate(self) -> Gate:
        return _GATES[self]

    @property
    def default_severity(self) -> Severity:
        """What the finding weighs unless a policy says otherwise."""
        return _SEVERITIES[self.gate]


def _gate_table() -> dict[FindingName, Gate]:
    # The names stand above in the order of their gates; each first name opens a gate.
    starts = {
        FindingName.SECRET_FIELD: Gate.HARD,
        FindingName.BEFORE_INITIALIZED: Gate.PROTOCOL,
        FindingName.ANSWER_NOT_DELIVERED: Gate.RECOVERY,
        FindingName.URL_IN_TEXT: Gate.UX,
    }
    table: dict[FindingName, Gate] = {}
    gate = Gate.HARD
    for name in FindingName:
        gate = starts.get(name, gate)
        table[name] = gate
    return table


_GATES: Final = _gate_table()
_SEVERITIES: Final = {
    Gate.HARD: Severity.ERROR,
    Gate.PROTOCOL: Severity.WARNING,
    Gate.RECOVERY: Severity.WARNING,
    Gate.UX: Severity.INFO,
}

#: The protocol revisions a receipt names as they are. Any other is a keyed reference:
#: a date is also how a birthday looks.
PROTOCOL_REVISIONS: Final = frozenset(
    {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
)

#: Originating requests an elicitation can belong to.
ORIGINATING_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
