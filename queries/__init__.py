"""Canned questions: one ``.sql`` file each, a catalogue that reads them, rendering."""
