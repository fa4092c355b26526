"""Telemetry: export metrics and spans where the standard ``OTEL_*`` variables ask for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from elicitation_receipts.schemas.errors import ReceiptsError, UsageError

#: The entry point of the one OTLP exporter the extra installs, for either signal.
_ENTRY_POINTS: Final = {"otlp": "otlp_proto_http"}


def export_metrics(environ: Mapping[str, str] = os.environ, *, stdout_is_free: bool = True) -> bool:
    """Set up metrics of the OpenTelemetry SDK for this process, if a variable names where they go.

    ``OTEL_METRICS_EXPORTER``: exporters by name (otlp, console, none); without it, otlp
    where an ``OTEL_EXPORTER_OTLP_*ENDPOINT`` is set. The SDK reads the other variables.
    Returns whether they go anywhere. Raises ``otel_missing``, and ``otel_console`` where standard
    output is not ours to use.
    """
    exporters = _exporters("metrics", environ, stdout_is_free)
    if not exporters:
        return False
    from opentelemetry.metrics import set_meter_provider
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    # It exports for the last time when the process exits.
    set_meter_provider(
        MeterProvider([PeriodicExportingMetricReader(exporter()) for exporter in exporters])
    )
    return True


def export_spans(environ: Mapping[str, str] = os.environ) -> bool:
    """The same for spans, by ``OTEL_TRACES_EXPORTER``."""
    exporters = _exporters("traces", environ, stdout_is_free=True)
    if not exporters:
        return False
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import set_tracer_provider

    provider = TracerProvider()
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter()))
    set_tracer_provider(provider)
    return True


def flush_metrics() -> None:
    """Export what is left, for a process that may end without its exit handlers."""
    from opentelemetry.metrics import get_meter_provider

    shutdown = getattr(get_meter_provider(), "shutdown", None)
    if shutdown is not None:
        shutdown()


def _exporters(signal: str, environ: Mapping[str, str], stdout_is_free: bool) -> list[Any]:
    """The exporters' classes that the variables of ``signal`` (metrics, traces) ask for."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    endpoints = (
        f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    )
    default = "otlp" if any(environ.get(endpoint) for endpoint in endpoints) else "none"
    names = [name.strip() for name in (environ.get(variable) or default).split(",")]
    wanted = [_ENTRY_POINTS.get(name, name) for name in names if name not in ("", "none")]
    if "console" in wanted and not stdout_is_free:
        raise UsageError(
            "otel_console",
            f"{variable}=console writes to standard output, which carries MCP; use otlp",
        )
    found = entry_points(group=f"opentelemetry_{signal}_exporter")
    missing = [name for name in wanted if name not in found.names]
    if missing:
        raise ReceiptsError(
            "otel_missing",
            f"{variable} asks for an exporter that is not installed ({', '.join(missing)}); "
            "install elicitation-receipts[otel], or set it to none",
        )
    return [found[name].load() for name in wanted]
