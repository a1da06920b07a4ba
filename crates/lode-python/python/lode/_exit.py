"""Closing what is open when the program ends."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from ._lode import Database

_open: weakref.WeakSet[Database] = weakref.WeakSet()
_process = os.getpid()


def close_at_exit(database: Database) -> None:
    """Has a database closed when the program ends. Lode's own code calls it."""
    _open.add(database)


def _close_all() -> None:
    # A forked process has none of its own.
    if os.getpid() != _process:
        return
    for database in list(_open):
        try:
            database.close()
        except Error as error:
            print(f"lode: a database could not be closed: {error}")


atexit.register(_close_all)
