from __future__ import annotations

from pathlib import Path

import pytest

from milepost.errors import ServicesError
from milepost.services.classpath import jars_of, join


def test_jars_are_sorted_with_one_logging_binding(tmp_path: Path):
    (tmp_path / "hbase").mkdir()
    for name in ("z.jar", "slf4j-simple-1.7.36.jar", "slf4j-reload4j-1.7.36.jar", "a.jar", "notes.txt"):
        (tmp_path / "hbase" / name).touch()
    names = [jar.name for jar in jars_of("hbase", root=tmp_path)]
    assert names == ["a.jar", "slf4j-simple-1.7.36.jar", "z.jar"]


def test_missing_jars_say_how_to_get_them(tmp_path: Path):
    with pytest.raises(ServicesError, match="make jars"):
        jars_of("kafka", root=tmp_path)


def test_path_with_a_space_is_one_entry():
    assert join([Path("/a b/c.jar"), Path("/d.jar")]) == "/a b/c.jar:/d.jar"


def test_path_with_the_separator_is_refused():
    with pytest.raises(ServicesError, match="class path"):
        join([Path("/a:b/c.jar")])
