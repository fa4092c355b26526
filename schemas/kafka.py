"""How Kafka is reached, by those who write and those who read, and what its failures are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from kafka import errors
from kafka.net import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

Client = TypeVar("Client")

_REFUSED: Final = (
    errors.AuthorizationError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)
_NO_TOPIC: Final = (errors.UnknownTopicOrPartitionError, errors.InvalidTopicError)
_NOT_TAKEN: Final = (
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.InvalidRecordError,
    errors.PolicyViolationError,
)


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """``address``: bootstrap servers, `host:port`, several after commas.

    ``options``: what else the client is told, by kafka-python's names (`security_protocol`,
    `sasl_mechanism`, `ssl_cafile` …).
    """

    address: str
    topic: str = "elicitation.receipts"
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # passwords among them

    def connect(self, kind: Callable[..., Client], **options: Any) -> Client:
        """A new client, `KafkaProducer` and the like. Raises :class:`KafkaError`.

        One that cannot connect does not clean up behind itself; here its sockets and
        threads are closed.
        """
        networks: list[Any] = []

        def network(**options: Any) -> Any:
            selector = NetworkSelector(**options)
            networks.append(KafkaNetClient(selector, _Connections(selector, **options)))
            return networks[-1]

        try:
            return kind(
                bootstrap_servers=self.address.split(","),
                kafka_client=network,
                **self.options,
                **options,
            )
        except BaseException as error:
            for each in networks:
                each.close()
            if isinstance(error, OSError):  # a file it names
                raise errors.KafkaConfigurationError(str(error)) from error
            if isinstance(error, ValueError | AssertionError):  # may hold an option's value
                raise errors.KafkaConfigurationError(type(error).__name__) from None
            raise


class _Connections(KafkaConnectionManager):  # type: ignore[misc]
    """Gives up on a broker that refuses us, or that we may not trust: as it is, the client would
    go on trying, and in the end say that there was no answer.
    """

    _refusal: errors.KafkaError | None = None

    def get_connection(self, *which: Any, **options: Any) -> Any:
        if self._refusal is not None:
            raise self._refusal
        connection = super().get_connection(*which, **options)
        connection.init_future.add_errback(self._on_failure)
        return connection

    async def _build_transport(self, *which: Any, **options: Any) -> Any:
        transport = await super()._build_transport(*which, **options)
        receive = transport._sock_recv

        def receive_to_the_end() -> tuple[bytes, Exception | None]:
            # As it is, what comes together with the connection's end is thrown away: the very
            # answer in which a broker says that it refuses us. The end is seen the next time.
            data, error = receive()
            return (data, None) if data else (data, error)

        transport._sock_recv = receive_to_the_end
        return transport

    def _on_failure(self, error: Exception) -> None:
        if isinstance(error, _REFUSED):
            self._refusal = error
        elif "CERTIFICATE_VERIFY_FAILED" in str(error):
            self._refusal = _UntrustedError()


class _UntrustedError(errors.KafkaError):  # type: ignore[misc]
    """The broker's certificate is none that we trust."""


def explain(error: errors.KafkaError, settings: KafkaSettings) -> tuple[str, str]:
    """The reason and message of what a Kafka client raised.

    Reasons: ``broker_refused``, ``broker_untrusted``, ``topic_not_found``, ``message_refused``,
    ``kafka_misconfigured``, and ``broker_unavailable`` for all that may pass by itself.
    """
    name, address, topic = type(error).__name__, settings.address, settings.topic
    if isinstance(error, _REFUSED):
        check = "check the login and the ACLs"
        return "broker_refused", f"Kafka at {address} does not admit us ({name}); {check}"
    if isinstance(error, _UntrustedError):
        check = "name the authority that signed it: RECEIPTS_KAFKA_SSL_CAFILE"
        return "broker_untrusted", f"the certificate of Kafka at {address} is not trusted; {check}"
    if isinstance(error, _NO_TOPIC):
        create = "create it with `receipts ship --create-topic`"
        return "topic_not_found", f"Kafka at {address} has no topic {topic}; {create}"
    if isinstance(error, _NOT_TAKEN):
        enlarge = "let its max.message.bytes be 1048588 or more"
        return "message_refused", f"topic {topic} does not take a receipt ({name}); {enlarge}"
    if isinstance(error, errors.KafkaConfigurationError):
        check = "check the address (host:port) and what else `receipts settings` shows of Kafka"
        return (
            "kafka_misconfigured",
            f"Kafka's client does not take its settings ({error}); {check}",
        )
    return "broker_unavailable", f"no answer from Kafka at {address} ({name}); is it running?"
