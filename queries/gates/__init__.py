"""The promotion gates: what one combination of client, server and flow has shown, by rules that are data."""
