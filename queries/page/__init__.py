"""The reports as one page that stands alone: no script, no request, charts beside their tables."""
