"""Columns of dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing

_WORDS: dict[type, str] = {
    int: "i64",
    float: "f64",
    bool: "bool",
    str: "vartext(4096)",
    bytes: "varbytes(4096)",
    datetime.datetime: "timestamp",
    decimal.Decimal: "decimal(18,4)",
}


def columns_of(record: type) -> dict[str, str]:
    """Returns the types of the columns that a dataclass has, by their names.

    >>> import dataclasses, typing
    >>> @dataclasses.dataclass
    ... class User:
    ...     id: typing.Annotated[int, "u64"]
    ...     name: str
    ...     age: int | None = None
    >>> columns_of(User)
    {'id': 'u64', 'name': 'vartext(4096)', 'age': 'i64?'}
    """
    if not (isinstance(record, type) and dataclasses.is_dataclass(record)):
        raise TypeError(f"columns are a mapping or a dataclass, not {record!r}")
    odd = [field.name for field in dataclasses.fields(record) if not field.init]
    if odd:
        raise TypeError(f"field {odd[0]} has init=False, so no object could be made of a row")
    hints = typing.get_type_hints(record, include_extras=True)
    return {field.name: _word(field.name, hints[field.name]) for field in dataclasses.fields(record)}


def _word(name: str, hint: object) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(others) == 1 and len(typing.get_args(hint)) == 2:
            return _word(name, others[0]).removesuffix("?") + "?"
    if typing.get_origin(hint) is typing.Annotated:
        base, *notes = typing.get_args(hint)
        word = next((note for note in notes if isinstance(note, str)), None)
        if word is None:
            return _word(name, base)
        nullable = type(None) in typing.get_args(base) and not word.endswith("?")
        return word + "?" if nullable else word
    if isinstance(hint, type) and hint in _WORDS:
        return _WORDS[hint]
    raise TypeError(
        f"field {name}: there is no column type for {hint!r}; say it with Annotated, such as"
        ' Annotated[int, "u32"]'
    )
