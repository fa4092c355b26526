"""The pure core: messages and times in, receipts out. No clock, no file, no process."""
