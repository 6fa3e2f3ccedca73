"""The other end of ``builds.Worker``: calls what it is told, one line of JSON each."""

from __future__ import annotations

import importlib
import json
import os
import sys

from benchmarks import builds


def main() -> None:
    """Answer until there are no more questions."""
    # What a benchmark prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    wanted = sys.argv[1]
    for line in sys.stdin:
        name, arguments = json.loads(line)
        module, _, function = name.partition(":")
        try:
            if builds.here() != wanted:
                raise RuntimeError(f"this is the {builds.here()} build, not the {wanted} one")
            answer = {"result": getattr(importlib.import_module(module), function)(*arguments)}
        except Exception as error:  # noqa: BLE001 (it is told to the one who asked)
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
