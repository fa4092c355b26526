"""Numbered SQL files that create and change the warehouse, applied in order, each once."""
