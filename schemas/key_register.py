"""The key register: which keys were used here, by their ids, and which were destroyed.

Beside where a secret's file stands or would stand, whatever source the secret has::

    epoch-0001.id         ``payload 3f9a…``: a key's purpose and its id, one a line
    epoch-0001.destroyed  the secret is gone for good

An id names a key and tells nothing of it. So a key that is lost or another one than before
is noticed, instead of a new one taking its place; and a digest whose key is gone is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from elicitation_receipts.schemas import key_files
from elicitation_receipts.schemas.errors import KeyringError


class KeyRegister:
    """The register in a key folder. Every method raises :class:`KeyringError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, prefix: str = "") -> set[str]:
        """The names of the secrets that were used, of those that begin with ``prefix``."""
        paths = (self._folder / prefix).rglob("*.id")
        return {path.relative_to(self._folder).as_posix().removesuffix(".id") for path in paths}

    def ids(self, name: str) -> dict[str, str]:
        """The ids of the keys made with a secret, by their purpose; {}: it was not used yet."""
        path = self._path(name, "id")
        try:
            lines = path.read_text(encoding="ascii").splitlines()
            return dict(line.split(" ") for line in lines)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise key_files.unreadable(path, error) from error
        except ValueError:
            raise KeyringError("key_unreadable", f"{path} is damaged; restore it") from None

    def confirm(self, name: str, ids: Mapping[str, str], *, write: bool) -> None:
        """Raises ``key_wrong`` where a secret made other keys before; ``write``: remember these."""
        known = self.ids(name)
        if not known and write:
            for folder in reversed(Path(name).parents[:-1]):
                key_files.make_folder(self._folder / folder)
            text = "".join(f"{purpose} {id_}\n" for purpose, id_ in ids.items())
            key_files.write_once(self._path(name, "id"), text.encode("ascii"))
            known = self.ids(name)
        if known and known != ids:
            raise KeyringError(
                "key_wrong",
                f"the secret {name} is not the one that was used here before; restore that one",
            )

    def is_destroyed(self, name: str) -> bool:
        return self._path(name, "destroyed").exists()

    def mark_destroyed(self, name: str) -> None:
        key_files.write_once(self._path(name, "destroyed"), b"")

    def tenants(self) -> Iterator[str]:
        """Every tenant whose keys were used, by name."""
        for folder in sorted((self._folder / "tenants").glob("*")):
            yield folder.name

    def _path(self, name: str, suffix: str) -> Path:
        return self._folder / f"{name}.{suffix}"
