"""Keys and values of a cache as bytes."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from typing import Any

from ._errors import Error, make

# The longest key that is stored as it is.
MOST_KEY_BYTES = 500


def _refuse(message: str) -> Error:
    return make("value_misfit", "none", message)


def pack_key(key: Any, pickles: bool) -> bytes:
    """Returns the bytes for a key, different ones for different keys.

    >>> unpack_key(pack_key(("a", 1, None, b"x", 2.5), False), False)
    ('a', 1, None, b'x', 2.5)
    """
    if key is None:
        return b"n"
    if type(key) is bytes:
        return b"b" + key
    if type(key) is str:
        try:
            return b"s" + key.encode()
        except UnicodeEncodeError:
            raise _refuse("a key has a surrogate, which UTF-8 does not") from None
    if type(key) is bool:
        return b"t" if key else b"f"
    if type(key) is int and _is_short(key):
        return b"i%d" % key
    if type(key) is float:
        return b"d" + struct.pack("<d", key)
    if type(key) is tuple:
        parts = [pack_key(part, pickles) for part in key]
        return b"(" + b"".join(b"%d:" % len(part) + part for part in parts)
    if pickles:
        return b"p" + pickle.dumps(key, protocol=4)
    kind = type(key).__name__
    raise _refuse(f"a key of class {kind} is possible with pickle=True only")


def unpack_key(packed: bytes, pickles: bool) -> Any:
    """Returns the key of some bytes."""
    kind, rest = packed[:1], packed[1:]
    if kind == b"b":
        return rest
    if kind == b"s":
        return rest.decode()
    if kind == b"i":
        return int(rest)
    if kind == b"d":
        return struct.unpack("<d", rest)[0]
    if kind == b"(":
        parts = []
        while rest:
            size, _, rest = rest.partition(b":")
            parts.append(unpack_key(rest[: int(size)], pickles))
            rest = rest[int(size) :]
        return tuple(parts)
    if kind == b"p":
        return _unpickle(rest, pickles)
    return {b"n": None, b"t": True, b"f": False}[kind]


def stored_key(packed: bytes) -> bytes:
    """Returns the bytes by which a key is found: its own, or their hash if they are many."""
    if len(packed) <= MOST_KEY_BYTES:
        return packed
    return b"h" + hashlib.sha256(packed).digest()


def pack_value(value: Any, pickles: bool) -> bytes:
    """Returns the bytes for a value, from which `unpack_value` makes an equal one."""
    if type(value) is bytes:
        return b"b" + value
    if type(value) is str:
        return b"s" + value.encode(errors="surrogatepass")
    if _is_json(value):
        return b"j" + json.dumps(value, separators=(",", ":")).encode()
    if pickles:
        return b"p" + pickle.dumps(value, protocol=4)
    raise _refuse(
        f"a value of class {type(value).__name__} is possible with pickle=True only; else bytes,"
        " str, numbers, None, and lists and dicts of them"
    )


def unpack_value(packed: bytes, pickles: bool) -> Any:
    """Returns the value of some bytes."""
    kind, rest = packed[:1], packed[1:]
    if kind == b"b":
        return rest
    if kind == b"s":
        return rest.decode(errors="surrogatepass")
    if kind == b"j":
        return json.loads(rest)
    return _unpickle(rest, pickles)


def _unpickle(packed: bytes, pickles: bool) -> Any:
    if not pickles:
        raise _refuse("it was stored with pickle=True; open the cache so, if you trust its files")
    return pickle.loads(packed)


def _is_short(number: int) -> bool:
    """Returns true if Python reads back what it prints of a number: it bounds the digits."""
    return number.bit_length() < 10_000


def _is_json(value: Any) -> bool:
    """Returns true if JSON has the value just as it is: no tuples, subclasses or keys but str."""
    if value is None or type(value) in (bool, float):
        return True
    if type(value) is int:
        return _is_short(value)
    if type(value) is str:
        # JSON joins two surrogates to one character.
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is dict:
        return all(type(key) is str and _is_json(key) and _is_json(part) for key, part in value.items())
    return False
