"""Evidence: what a stranger can verify about receipts, offline and years later."""
