"""Figures and hash of a run that has ended, printed or written where the user asked for them."""

from __future__ import annotations

import json
from typing import Any

from twixt.ipc.errors import TwixtError


def print_results(results: dict[str, Any], json_file: str | None) -> None:
    """The blocks of the report as JSON into `json_file` (`-`: standard output, None: nowhere), and the `state_hash`
    among them, if there is one, on a line of standard output. Raises TwixtError for a file that cannot be written."""
    if results.get("state_hash") and json_file != "-":
        print(results["state_hash"], flush=True)
    if json_file is None:
        return
    text = json.dumps(results, indent=2, allow_nan=False)
    if json_file == "-":
        print(text, flush=True)
        return
    try:
        with open(json_file, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise TwixtError(f"cannot write {json_file}: {error.strerror}; choose another --json FILE") from error
