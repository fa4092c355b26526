"""What has landed, as a monitoring system reads it (Prometheus exposition)."""
