"""Telemetry: export metrics where the standard ``OTEL_*`` variables ask for it, else not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Final

from elicitation_receipts.schemas.errors import ReceiptsError, UsageError

_EXPORTER: Final = "OTEL_METRICS_EXPORTER"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
#: The entry point of the one OTLP exporter the extra installs.
_ENTRY_POINTS: Final = {"otlp": "otlp_proto_http"}


def export_metrics(environ: Mapping[str, str] = os.environ, *, stdout_is_free: bool = True) -> None:
    """Set up the OpenTelemetry SDK for this process, if a variable names where metrics go.

    ``OTEL_METRICS_EXPORTER``: exporters by name (otlp, console, none); without it, otlp
    where an ``OTEL_EXPORTER_OTLP_*ENDPOINT`` is set. The SDK reads the other variables.
    Raises ``otel_missing``, and ``otel_console`` where standard output is not ours to use.
    """
    default = "otlp" if any(environ.get(endpoint) for endpoint in _ENDPOINTS) else "none"
    names = [name.strip() for name in (environ.get(_EXPORTER) or default).split(",")]
    wanted = [_ENTRY_POINTS.get(name, name) for name in names if name not in ("", "none")]
    if not wanted:
        return
    if "console" in wanted and not stdout_is_free:
        raise UsageError(
            "otel_console",
            f"{_EXPORTER}=console writes to standard output, which carries MCP; use otlp",
        )
    found = entry_points(group="opentelemetry_metrics_exporter")
    missing = [name for name in wanted if name not in found.names]
    if missing:
        raise ReceiptsError(
            "otel_missing",
            f"{_EXPORTER} asks for an exporter that is not installed ({', '.join(missing)}); "
            "install elicitation-receipts[otel], or set it to none",
        )
    from opentelemetry.metrics import set_meter_provider
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporters = [found[name].load() for name in wanted]
    # It exports for the last time when the process exits.
    set_meter_provider(
        MeterProvider([PeriodicExportingMetricReader(exporter()) for exporter in exporters])
    )


def flush_metrics() -> None:
    """Export what is left, for a process that may end without its exit handlers."""
    from opentelemetry.metrics import get_meter_provider

    shutdown = getattr(get_meter_provider(), "shutdown", None)
    if shutdown is not None:
        shutdown()
