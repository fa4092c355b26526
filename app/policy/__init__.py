"""``receipts policy``: the workbench on which a policy is shown, tried, tested and compared."""
