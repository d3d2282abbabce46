"""Checks and writes the result files that the user names with flags such as `--json FILE`.

Always: if a file cannot be written, the error names the reason and the flag to change.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

from twixt.ipc.config.rules import ConfigError, ConfigTypeError
from twixt.ipc.errors import TwixtError, text_of

# Longest file name that most file systems accept, in bytes.
LONGEST_NAME = 255


def check_file(flag: str, path: Any, is_picture: bool = False) -> None:
    """Raises ConfigError if the file `path` cannot be written. If the file does not exist yet, raises ConfigError if
    it cannot be made.

    is_picture: True if the name must also end in .png. "-" (standard output) is accepted for --json only.
    """
    if not isinstance(path, str) or not path:
        raise ConfigTypeError(f"{flag} must be a file name, got {text_of(path)}")
    if path == "-" and flag == "--json":
        return
    if path == "-":
        raise ConfigError(f"{flag} -: only --json can write to standard output; name a file")
    if not _is_name(os.path.basename(path)):
        raise ConfigError(f"{flag} must be a file name of at most {LONGEST_NAME} bytes, got {text_of(path)}")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"{flag} {path!r}: the folder {folder!r} does not exist; create it, or name another file")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ConfigError(f"{flag} {path!r} cannot be written; name another file")
    if is_picture and not path.lower().endswith(".png"):
        raise ConfigError(f"{flag} writes a PNG file, got {text_of(path)}; name it {path}.png")


def _is_name(name: str) -> bool:
    try:
        return "\0" not in name and len(os.fsencode(name)) <= LONGEST_NAME
    except UnicodeEncodeError:  # a name with a lone surrogate cannot be encoded
        return False


def write_text(path: str, text: str, flag: str = "--out") -> None:
    """Writes a text file. flag: the flag by which the user named the file; the error message names it. Raises
    TwixtError if the file cannot be written."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise TwixtError(
            f"cannot write {path!r}: {error.strerror}; for {flag}, name a file in an existing folder with free space"
        ) from None


def write_json(document: dict[str, Any], path: str) -> None:
    """Writes the document to the file that the user named by --json. `-` is standard output. Numbers of numpy are
    written as Python numbers. Numbers that are not finite are written as null. Raises TwixtError if the file cannot
    be written."""
    text = json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(path, text, "--json")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
