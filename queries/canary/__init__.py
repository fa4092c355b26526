"""The canary: a candidate beside a baseline, with a verdict that may be looked at every minute."""
