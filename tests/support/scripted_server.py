"""A stdio MCP server that plays a script, in step with a client that plays the other part.

`python scripted_server.py SCRIPT`: each line of the script is ``[who, line]``. Where ``who`` is
`server` it says the line; where it is `client` it waits for one. Then it waits for the end of
its input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: Who says it (`client` or `server`), and the line with its newline.
Step = tuple[str, bytes]

CLIENT, SERVER = "client", "server"


def play(command: list[str], script: Path, steps: Sequence[Step]) -> bytes:
    """Run ``command`` in front of the server; what it says on standard error.

    Fails unless every line of the server arrives as it was said.
    """
    # A line of bytes that is no UTF-8 survives as Latin-1.
    script.write_text(
        "".join(json.dumps([who, line.decode("latin-1")]) + "\n" for who, line in steps)
    )
    with subprocess.Popen(
        [*command, sys.executable, __file__, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        passed = 0
        for who, line in steps:
            if who == CLIENT:
                process.stdin.write(line)
                process.stdin.flush()
            elif process.stdout.readline() != line:
                break
            passed += 1
        out, err = process.communicate(timeout=60)
    assert passed == len(steps), f"step {passed} did not pass as it was: {err.decode()}"
    assert (process.returncode, out) == (0, b"")
    return err


def main() -> None:
    with Path(sys.argv[1]).open() as script:
        for text in script:
            who, line = json.loads(text)
            if who == SERVER:
                sys.stdout.buffer.write(line.encode("latin-1"))
                sys.stdout.buffer.flush()
            else:
                sys.stdin.buffer.readline()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
