"""The promotion gates: what a combination of client, server and flow has shown, by rules."""
