"""The policy in force: the file that the settings name, else the built-in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from elicitation_receipts.home import Home
from elicitation_receipts.producers.policy import BUILT_IN, Policy, load
from elicitation_receipts.producers.policy.kept import keep
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.settings import Settings

#: What a file is known by to be as it was: place, time of change, size.
_Stamp = tuple[tuple[int, int, int] | None, ...]


def chosen_policy(settings: Settings, files: list[Path] | None = None) -> Policy:
    """The policy that the settings name, whether it is in force yet or not.

    ``files`` is given every file it was read from. Raises :class:`PolicyError`.
    """
    return BUILT_IN if settings.policy is None else load(Path(settings.policy), files)


def policy_in_force(
    settings: Settings, today: date | None = None, files: list[Path] | None = None
) -> Policy:
    """The policy by which a watcher judges. ``today``: in UTC, unless given.

    ``files`` is given every file it was read from. Raises :class:`PolicyError`; beside what is
    wrong with a file ``policy_not_yet_effective``.
    """
    policy = chosen_policy(settings, files)
    if policy is not BUILT_IN and policy.effective > (today or datetime.now(UTC).date()):
        raise PolicyError(
            "policy_not_yet_effective",
            f"{settings.policy} takes effect on {policy.effective}; use the one before until then",
        )
    if settings.automatic_below_ms is None:
        return policy
    numbers = replace(policy.thresholds, automatic_below_ms=settings.automatic_below_ms)
    return replace(policy, thresholds=numbers)


class Renewal:
    """Notices when the policy's file, or one it extends, is another than before.

    ``policy``  the one in force now; it is kept in the home
    ``say``     told once of a new file that cannot be used: the policy before stays in force

    To make one raises :class:`PolicyError`: nothing starts by a policy that is wrong.
    """

    def __init__(self, home: Home, settings: Settings, say: Callable[[str], None]) -> None:
        self._home = home
        self._settings = settings
        self._say = say
        self._files: list[Path] = []
        self._stamp: _Stamp = ()
        self.policy = self._load()

    def __call__(self) -> Policy | None:
        """The policy that takes the place of the one before; None: that stays."""
        if self._stamps() == self._stamp:
            return None
        try:
            policy = self._load()
        except PolicyError as error:
            self._say(f"{error}; the policy before it stays in force")
            return None
        if policy.digest == self.policy.digest:
            return None
        self.policy = policy
        return policy

    def _load(self) -> Policy:
        files: list[Path] = []
        # Taken before the files are read: what changes meanwhile is noticed next time.
        before = {file: _stamp_of(file) for file in self._files}
        try:
            policy = policy_in_force(self._settings, files=files)
            keep(policy, self._home.policies)
        finally:
            self._files = files
            self._stamp = tuple(
                before[file] if file in before else _stamp_of(file) for file in files
            )
        return policy

    def _stamps(self) -> _Stamp:
        return tuple(map(_stamp_of, self._files))


def _stamp_of(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
