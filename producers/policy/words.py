"""The words a policy is written in, beside those of the receipt's own vocabulary."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from elicitation_receipts.schemas.vocabulary import FindingName


class Enforcement(StrEnum):
    """What a watcher does about a question the policy decides against."""

    OBSERVE = "observe"  # the finding stands in the receipt
    WARN = "warn"  # and whoever runs the watcher is told
    ENFORCE = "enforce"  # and the question is stopped before a person sees it


class Effect(StrEnum):
    """What a finding about a question means for it."""

    OFF = "off"  # not looked for: neither recorded nor counted
    WARN = "warn"
    BLOCK = "block"


class FieldNames(StrEnum):
    """How a failed field stands in a receipt."""

    KEEP = "keep"  # by its name, where that is a safe identifier
    ORDINAL = "ordinal"  # always by its place in the schema


class RequiredText(StrEnum):
    """Which text every field of a form must have."""

    NONE = "none"
    EITHER = "either"  # a title or a description
    TITLE = "title"
    DESCRIPTION = "description"
    BOTH = "both"


class Match(StrEnum):
    """How an operation's pattern is read; both match whole names."""

    GLOB = "glob"  # `*` is any run of characters, `?` any one
    REGEX = "regex"  # RE2, which takes linear time


class DataClass(StrEnum):
    """What kind of data a question asks for."""

    PASSWORD = "password"  # noqa: S105  (a class's name, here and below)
    PIN = "pin"
    ONE_TIME_CODE = "one_time_code"
    RECOVERY_CODE = "recovery_code"
    SECURITY_ANSWER = "security_answer"
    TOKEN = "token"  # noqa: S105
    API_KEY = "api_key"
    PRIVATE_KEY = "private_key"
    PAYMENT_CARD = "payment_card"
    BANK_ACCOUNT = "bank_account"
    GOVERNMENT_ID = "government_id"
    DATE_OF_BIRTH = "date_of_birth"
    HEALTH = "health"
    BIOMETRIC = "biometric"

    @property
    def is_secret(self) -> bool:
        """Whoever knows it can act as the person: a form that asks for it is `secret_field`."""
        return self in _SECRETS


_SECRETS: Final = frozenset(
    {
        DataClass.PASSWORD,
        DataClass.PIN,
        DataClass.ONE_TIME_CODE,
        DataClass.RECOVERY_CODE,
        DataClass.SECURITY_ANSWER,
        DataClass.TOKEN,
        DataClass.API_KEY,
        DataClass.PRIVATE_KEY,
        DataClass.PAYMENT_CARD,
    }
)

#: What is found about a question as it is put. Only these can have an effect on it.
ABOUT_QUESTIONS: Final = frozenset(
    {
        FindingName.SECRET_FIELD,
        FindingName.DATA_CLASS_PROHIBITED,
        FindingName.APPROVAL_AS_FIELD,
        FindingName.CREDENTIAL_IN_URL,
        FindingName.BEFORE_INITIALIZED,
        FindingName.MODE_NOT_DECLARED,
        FindingName.MODE_NOT_ALLOWED,
        FindingName.OVERSIZED_MESSAGE,
        FindingName.NO_ORIGINATING_REQUEST,
        FindingName.UNKNOWN_MODE,
        FindingName.MIXED_MODE_MEMBERS,
        FindingName.MISSING_MESSAGE,
        FindingName.MISSING_ELICITATION_ID,
        FindingName.MISSING_REQUESTED_SCHEMA,
        FindingName.SCHEMA_OFF_SUBSET,
        FindingName.EMPTY_SCHEMA,
        FindingName.DUPLICATE_ID,
        FindingName.DUPLICATE_MEMBER,
        FindingName.BATCH_ARRAY,
        FindingName.MALFORMED_MESSAGE,
        FindingName.RETIRED_CODE,
        FindingName.URL_IN_TEXT,
        FindingName.URL_NOT_HTTPS,
        FindingName.URL_SCHEME,
        FindingName.URL_USERINFO,
        FindingName.URL_PUNYCODE,
        FindingName.URL_MIXED_SCRIPT,
        FindingName.URL_IP_LITERAL,
        FindingName.URL_ORIGIN_NOT_ALLOWED,
        FindingName.REASK_LOOP,
        FindingName.REASK_AFTER_REFUSAL,
        FindingName.REASK_AFTER_ACCEPT,
        FindingName.NEEDLESS_QUESTION,
        FindingName.TOO_MANY_FIELDS,
        FindingName.VALUE_LIMIT,
        FindingName.MISSING_DESCRIPTION,
    }
)
