"""Closing what is open when the program ends."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from ._lode import Database

_open: weakref.WeakSet[Database] = weakref.WeakSet()


def close_at_exit(database: Database) -> None:
    """Has a database closed when the program ends. Lode's own code calls it."""
    _open.add(database)


def _close_all() -> None:
    for database in list(_open):
        try:
            database.close()
        except Error as error:
            print(f"lode: a database could not be closed: {error}", file=sys.stderr)


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    # Those of the parent are not the child's.
    os.register_at_fork(after_in_child=_open.clear)
