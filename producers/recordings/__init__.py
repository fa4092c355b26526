"""Recorded traffic: reading it, and the receipts it gives."""
