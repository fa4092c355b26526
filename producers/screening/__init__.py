"""Screening: what a policy has to say about a question before a person sees it."""
