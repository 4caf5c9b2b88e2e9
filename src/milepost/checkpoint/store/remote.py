"""A checkpoint directory on a file system that fsspec reaches."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Any, BinaryIO, cast

from fsspec.asyn import AsyncFileSystem
from fsspec.core import url_to_fs
from fsspec.registry import known_implementations
from fsspec.spec import AbstractFileSystem

from milepost.checkpoint.store.store import (
    Entry,
    Store,
    checked,
    temporary_name,
)
from milepost.errors import PreflightError

# Hadoop's names of file systems that fsspec knows under another one.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasb": "abfs", "wasbs": "abfs"}
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "abfs": "adlfs", "hdfs": "pyarrow", "oss": "ossfs"}


class RemoteStore(Store):
    """Files on a file system that fsspec reaches: an object store, HDFS, or memory in tests.

    An object appears once complete. Elsewhere a file is written under a temporary name and moved, and a name that is
    taken is refused by the file system's own rename.
    """

    @classmethod
    def at(cls, directory: str) -> RemoteStore:
        """Reach the directory; a missing driver is refused with the package to install."""
        scheme, _, rest = directory.partition(":")
        scheme = _SCHEMES.get(scheme, scheme)
        try:
            # A driver that dies must not leave its successor with an old listing.
            files, root = url_to_fs(f"{scheme}:{rest}", use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise _no_driver(scheme, error) from error
        return cls(files, str(root))

    def __init__(self, files: Any, root: str) -> None:
        """Take an fsspec file system and the path of the directory on it."""
        self._files = files
        self._root = root.rstrip("/")
        self._writes_whole = _writes_whole(files)

    def create(self, name: str, data: bytes) -> None:
        """Use a conditional write, or move a complete file to a free name."""
        path = self._path(name)
        self._make_folder(path)
        if self._writes_whole:
            self._files.pipe_file(path, data, mode="create")
            return
        if self._files.exists(path):
            raise FileExistsError(f"{path} already exists")
        self._move_into_place(path, data)

    def replace(self, name: str, data: bytes) -> None:
        """Write the object, or replace the old file by a complete one."""
        path = self._path(name)
        self._make_folder(path)
        if self._writes_whole:
            self._files.pipe_file(path, data)
            return
        # HDFS renames over nothing; what is replaced here may be missing for a moment.
        with suppress(FileNotFoundError):
            self._files.rm_file(path)
        self._move_into_place(path, data)

    def append(self, name: str, line: bytes) -> None:
        """Rewrite the file with one more line: object stores cannot append, so keep it short."""
        try:
            before = self.read(name)
        except FileNotFoundError:
            before = b""
        torn = bool(before) and not before.endswith(b"\n")
        self.replace(name, before + (b"\n" if torn else b"") + line + b"\n")

    def read(self, name: str) -> bytes:
        """Read it whole."""
        return bytes(self._files.cat_file(self._path(name)))

    def reading(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open the object."""
        return cast("AbstractContextManager[BinaryIO]", self._files.open(self._path(name), "rb"))

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Write the object; an object store shows it when it is complete."""
        path = self._path(name)
        self._make_folder(path)
        return cast("AbstractContextManager[BinaryIO]", self._files.open(path, "wb"))

    def entries(self, folder: str) -> list[Entry]:
        """List one folder, past any cache."""
        self._files.invalidate_cache()
        path = self._path(folder)
        try:
            listed = self._files.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [
            Entry(entry["name"].rstrip("/").rpartition("/")[2], entry["type"] == "directory")
            for entry in listed
            # An object store lists a file, or a marker of the folder itself, under its own name.
            if entry["name"].rstrip("/").lstrip("/") != path.lstrip("/")
        ]
        return sorted(found, key=lambda entry: entry.name)

    def size(self, name: str) -> int:
        """Ask the file system."""
        try:
            return int(self._files.size(self._path(name)) or 0)
        except FileNotFoundError:
            return 0

    def exists(self, name: str) -> bool:
        """Ask the file system."""
        return bool(self._files.exists(self._path(name)))

    def is_file(self, name: str) -> bool:
        """Ask the file system."""
        return bool(self._files.isfile(self._path(name)))

    def move(self, name: str, to: str) -> None:
        """Move file by file where the file system has no rename of folders."""
        source, target = self._path(name), self._path(to)
        self._make_folder(target)
        if self._files.isfile(target):
            self._files.rm_file(target)
        self._files.mv(source, target, recursive=self._files.isdir(source))

    def delete(self, name: str) -> None:
        """Remove the object."""
        with suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def delete_folder(self, name: str) -> None:
        """Remove all objects under the name."""
        with suppress(FileNotFoundError):
            self._files.rm(self._path(name), recursive=True)

    def address(self, name: str) -> str:
        """Return the address with its protocol."""
        return str(self._files.unstrip_protocol(self._path(name)))

    def _path(self, name: str) -> str:
        return f"{self._root}/{checked(name)}" if name else self._root

    def _make_folder(self, path: str) -> None:
        if not self._writes_whole:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)

    def _move_into_place(self, path: str, data: bytes) -> None:
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/{temporary_name(name)}"
        try:
            self._files.pipe_file(temporary, data)
            self._files.mv(temporary, path)
        except Exception as error:
            with suppress(Exception):
                self._files.rm_file(temporary)
            if not isinstance(error, FileExistsError) and self._files.exists(path):
                raise FileExistsError(f"{path} already exists") from error
            raise


def _no_driver(scheme: str, error: Exception) -> PreflightError:
    package = _PACKAGES.get(scheme)
    known = known_implementations.get(scheme, {}).get("err")
    return PreflightError(
        f"A checkpoint directory on {scheme}: cannot be reached from Python",
        why=str(error),
        fix=f"Run `pip install {package}`" if package else known or "Use file:, hdfs:, s3a:, gs: or abfss:",
    )


def _writes_whole(files: Any) -> bool:
    """Return whether the file system itself writes atomically, and conditionally on request."""
    # The method of the abstract class asks first and writes then, in place.
    is_own = type(files).pipe_file is not AbstractFileSystem.pipe_file
    return is_own or isinstance(files, AsyncFileSystem)
