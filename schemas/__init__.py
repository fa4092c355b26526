"""The contract all sides stand on: the receipt, its encoding, its chain, keys and files."""
