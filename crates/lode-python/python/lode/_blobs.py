"""Blobs as files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, NoReturn, final

from ._errors import make

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._lode import _BlobReader, _BlobWriter


@final
class BlobReader(io.RawIOBase):
    """A blob that is being read, as a file of bytes. `Blobs.open` returns one.

    It reads the blob that was found, also when that is replaced or deleted; the space of that is
    free when it is closed. ``length_bytes`` is the number of its bytes. One thread at a time uses
    it. For lines or small parts, read it by an ``io.BufferedReader``.

    >>> import io, lode
    >>> db = lode.memory()
    >>> logs = db.create_blobs("logs")
    >>> logs["today"] = b"first line\\nlast line\\n"
    >>> with logs.open("today") as reader:
    ...     reader.length_bytes, reader.seek(-10, io.SEEK_END), reader.read(4), reader.tell()
    (21, 11, b'last', 15)
    >>> with io.BufferedReader(logs.open("today")) as lines:
    ...     list(lines)
    [b'first line\\n', b'last line\\n']
    >>> db.close()
    """

    def __init__(self, reader: _BlobReader) -> None:
        self._reader: Final = reader
        self.length_bytes: Final = reader.length_bytes

    def readable(self) -> bool:
        """Returns true."""
        return True

    def seekable(self) -> bool:
        """Returns true."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads `size` bytes, fewer only at the end; all that are left if it is below 0."""
        return self._reader.read(-1 if size is None else size)

    def readall(self) -> bytes:
        """Reads all bytes that are left."""
        return self._reader.read(-1)

    def readinto(self, buffer: Buffer, /) -> int:
        """Fills a buffer with bytes, and returns their number, which is less only at the end."""
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError("readinto takes a buffer that can be written, such as a bytearray")
        read = self._reader.read(len(view))
        view[: len(read)] = read
        return len(read)

    def write(self, data: Buffer, /) -> NoReturn:
        """Raises ``io.UnsupportedOperation``."""
        raise io.UnsupportedOperation("the blob is open for reading; open it with wb to write")

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Goes to an offset from the start, the position or the end. It may be after the end."""
        return self._reader.seek(offset, whence)

    def tell(self) -> int:
        """Returns the offset that is read next."""
        return self._reader.seek(0, io.SEEK_CUR)

    def close(self) -> None:
        """Closes the reader. Closing it again does nothing."""
        self._reader.close()
        super().close()


@final
class BlobWriter(io.RawIOBase):
    """A blob that is being written, as a file of bytes. `Blobs.open` returns one.

    The blob is there, in the place of the one before, when its ``with`` block has ended, or `close`
    was called outside of one. If the block raises, the database fails to write, or the writer is
    deleted before, the key has what it had. One thread at a time uses it. What closes the files
    that it is given, such as ``io.BufferedWriter``, is for the inside of the writer's own block:
    else its end calls `close`, also if it raises.

    >>> import io, lode
    >>> db = lode.memory()
    >>> notes = db.create_blobs("notes")
    >>> with notes.open("a", "wb") as writer:
    ...     writer.write(b"first"), "a" in notes
    (5, False)
    >>> with notes.open("a", "wb") as writer:
    ...     with io.TextIOWrapper(writer, "utf-8") as text:
    ...         print("half of", file=text)
    ...         raise LookupError("no second half")
    Traceback (most recent call last):
    LookupError: no second half
    >>> notes["a"]
    b'first'
    >>> db.close()
    """

    def __init__(self, writer: _BlobWriter) -> None:
        self._writer: Final = writer
        self._is_within = False
        self._has_ended = False

    def writable(self) -> bool:
        """Returns true."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Writes bytes, all of them; returns their number. What has no bytes is refused. If the
        database fails to write, the blob is given up."""
        if self.closed:
            raise make("ended", "none", "the writer was closed; open another one")
        return self._writer.write(data)

    def readinto(self, buffer: Buffer, /) -> NoReturn:
        """Raises ``io.UnsupportedOperation``, as all that reads does."""
        raise io.UnsupportedOperation("the blob is open for writing; open it with rb to read")

    def tell(self) -> int:
        """Returns the number of bytes that were written."""
        return self._writer.tell()

    def close(self) -> None:
        """Puts the blob in its place; within a ``with`` block, the end of that does."""
        try:
            if not self._is_within:
                self._finish()
        finally:
            super().close()

    def discard(self) -> None:
        """Gives the blob up: the key has what it had before."""
        self._writer.discard()
        self._has_ended = True
        super().close()

    def _finish(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._writer.finish()

    def __enter__(self) -> BlobWriter:
        """Has the end of the block put the blob in its place."""
        super().__enter__()
        self._is_within = True
        return self

    def __exit__(self, raised: object, *_: object) -> None:
        """Puts the blob in its place, or gives it up if the block raised."""
        self._is_within = False
        if raised is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        """Gives the blob up if it was not finished."""
        self.discard()
