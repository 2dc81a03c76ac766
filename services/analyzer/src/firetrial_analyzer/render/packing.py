"""Data inside a page: compressed, and in letters that mean nothing to HTML."""

import base64
import gzip
import hashlib
import json


def packed(value: object) -> str:
    """`value` as JSON, gzipped, in base64; the same value gives the same text."""
    return packed_bytes(json.dumps(value, separators=(",", ":")).encode())


def packed_bytes(content: bytes) -> str:
    """gzipped, in base64."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def inert_json(value: object) -> str:
    """`value` as JSON that cannot end the script element it stands in, nor open a comment there."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_source(script: str) -> str:
    """The source expression of a content security policy that allows this inline script and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
