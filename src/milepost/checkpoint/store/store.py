"""Files below one checkpoint directory, on any file system: the only writer under `milepost/`.

A file appears whole or not at all, and what a call has written survives a power cut after it. Nothing is decided here.
"""

from __future__ import annotations

import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from milepost.checkpoint.store.layout import local_layout

TEMPORARY = ".tmp"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands under one name in a folder."""

    name: str
    is_folder: bool


class Store(ABC):
    """The files of one checkpoint directory; names are relative to it, with `/` between folders."""

    @classmethod
    def at(cls, directory: str) -> Store:
        """Open the store of a path, a `file:` URI or an address of any file system that fsspec reaches."""
        layout = local_layout(directory)
        if layout is not None:
            return LocalStore(layout.root)
        from milepost.checkpoint.store.remote import RemoteStore  # most jobs need no fsspec

        return RemoteStore.at(directory)

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Write a file that must not be there yet; FileExistsError if it is. Of two callers one succeeds."""

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Write a file, whether it is there or not."""

    @abstractmethod
    def append(self, name: str, line: bytes) -> None:
        """Add one line, given without its end; a line that a death has torn stays a line of its own."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return what a file holds; FileNotFoundError if it is not there."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file that may be large, to be read piece by piece; FileNotFoundError if it is not there."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file to be written piece by piece; it is durable at the end, and a death may leave it torn."""

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """Return what is in a folder, in order of name; nothing where there is no such folder."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return the bytes of a file; 0 if it is not there."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Return whether a file or folder is there."""

    @abstractmethod
    def is_file(self, name: str) -> bool:
        """Return whether a file is there; the empty name is the directory itself."""

    @abstractmethod
    def move(self, name: str, to: str) -> None:
        """Give a file or a whole folder another name; a file of that name is replaced."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file; it may be gone already."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """Remove a folder with all it holds; it may be gone already."""

    @abstractmethod
    def address(self, name: str) -> str:
        """Return the full name of a file, for a person."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, those half-written by a killed driver included."""
        return [entry.name for entry in self.entries(folder) if not entry.is_folder]

    def walk(self, folder: str) -> Iterator[str]:
        """Yield the full name of each file in a folder and in those below it."""
        for entry in self.entries(folder):
            name = f"{folder}/{entry.name}"
            if entry.is_folder:
                yield from self.walk(name)
            else:
                yield name


class LocalStore(Store):
    """Files on a local file system, by the operating system's own calls."""

    def __init__(self, root: Path) -> None:
        """Touch nothing; folders are made when a file in them is written."""
        self.root = root

    def path(self, name: str) -> Path:
        """Return the path of a name."""
        return self.root / checked(name)

    def create(self, name: str, data: bytes) -> None:
        """Write under a temporary name, and give the file its own by a link, which fails if it is taken."""
        with self._written(name, data) as (temporary, target):
            try:
                os.link(temporary, target)
            except FileExistsError:
                raise
            except OSError:
                # A file system without hard links; a second driver is kept away by the lease alone.
                if target.exists():
                    raise FileExistsError(f"{target} already exists") from None
                temporary.replace(target)

    def replace(self, name: str, data: bytes) -> None:
        """Write under a temporary name, and rename."""
        with self._written(name, data) as (temporary, target):
            temporary.replace(target)

    def append(self, name: str, line: bytes) -> None:
        """Write behind what is there, on a line of its own."""
        path = self.path(name)
        _make_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            with named(path):
                size = os.fstat(file).st_size
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                _write(file, (b"\n" if torn else b"") + line + b"\n")
                os.fsync(file)
        finally:
            os.close(file)
        if size == 0:
            _sync_folder(path.parent)

    def read(self, name: str) -> bytes:
        """Read it whole."""
        return self.path(name).read_bytes()

    def reading(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open it."""
        return self.path(name).open("rb")

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Write in place; the folder's names are made durable by `sync`."""
        path = self.path(name)
        _make_folder(path.parent)
        with named(path), path.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def link(self, name: str, target: LocalStore, to: str) -> None:
        """Give a file a second name in a store on the same file system; both are durable after `sync`."""
        path = target.path(to)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(self.path(name), path)

    def sync(self, folder: str) -> None:
        """Make the names in a folder and in those below it durable."""
        for parent, _, _ in os.walk(self.path(folder), topdown=False):
            _sync_folder(Path(parent))

    def entries(self, folder: str) -> list[Entry]:
        """List one folder."""
        try:
            with os.scandir(self.path(folder)) as found:
                listed = [Entry(entry.name, entry.is_dir()) for entry in found]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(listed, key=lambda entry: entry.name)

    def size(self, name: str) -> int:
        """Ask the file system."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def exists(self, name: str) -> bool:
        """Ask the file system."""
        return self.path(name).exists()

    def is_file(self, name: str) -> bool:
        """Ask the file system."""
        return self.path(name).is_file()

    def move(self, name: str, to: str) -> None:
        """Rename, which is one step for a folder too."""
        source, target = self.path(name), self.path(to)
        _make_folder(target.parent)
        source.rename(target)
        _sync_folder(target.parent)
        _sync_folder(source.parent)

    def delete(self, name: str) -> None:
        """Unlink it."""
        self.path(name).unlink(missing_ok=True)

    def delete_folder(self, name: str) -> None:
        """Remove the tree."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.path(name))

    def address(self, name: str) -> str:
        """Return the path."""
        return str(self.path(name))

    @contextmanager
    def _written(self, name: str, data: bytes) -> Iterator[tuple[Path, Path]]:
        """Yield a durable temporary file beside its place; the name it is then given is durable at the end."""
        target = self.path(name)
        temporary = target.with_name(temporary_name(target.name))
        _make_folder(target.parent)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            try:
                with named(target):
                    _write(file, data)
                    os.fsync(file)
            finally:
                os.close(file)
            yield temporary, target
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Let an error of an open file say which file it is: the operating system does not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def checked(name: str) -> str:
    """Return the name if it stays below the directory."""
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f"{name!r} leads out of the checkpoint directory")
    return name


def temporary_name(name: str) -> str:
    """Return a name for a file until it is complete; Spark's logs ignore it, and the next start sweeps it."""
    return f".{name}.{uuid.uuid4().hex}{TEMPORARY}"


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _make_folder(folder: Path) -> None:
    """Make a folder durably; costs one look where it is there."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, as the files themselves already are."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
