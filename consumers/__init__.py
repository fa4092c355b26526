"""Where receipts go: landing in DuckDB, OpenTelemetry metrics."""
