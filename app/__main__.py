"""The script ``receipts``, also ``python -m elicitation_receipts``.

Apart from the command line itself, so that Ctrl-C is quiet also while that is being imported.
"""

from __future__ import annotations

import sys
from typing import Final, NoReturn

_INTERRUPTED: Final = 130


def run() -> NoReturn:
    """See :func:`elicitation_receipts.main.run`."""
    try:
        from elicitation_receipts import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    main.run()


if __name__ == "__main__":
    run()
