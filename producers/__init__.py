"""How a receipt comes to be: watch the wire, redact, seal, spool, ship."""
