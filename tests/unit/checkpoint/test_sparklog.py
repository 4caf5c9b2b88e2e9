from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.layout import Layout
from milepost.checkpoint.sparklog import (
    initial_offsets,
    newest_completed,
    read_offsets,
    sweep_temporary_files,
)
from milepost.errors import PreflightError


def log(root: Path, *, offsets: dict[int, int], commits: list[int]) -> Layout:
    layout = Layout(root)
    layout.offsets.mkdir(parents=True)
    layout.commits.mkdir()
    for batch, end in offsets.items():
        (layout.offsets / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"t":{{"0":{end}}}}}')
    for batch in commits:
        (layout.commits / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return layout


def test_nothing_completed_in_a_new_directory(tmp_path: Path):
    assert newest_completed(Layout(tmp_path / "new")) is None


def test_an_uncommitted_batch_does_not_count(tmp_path: Path):
    completed = newest_completed(log(tmp_path, offsets={0: 5, 1: 9}, commits=[0]))
    assert completed is not None
    assert (completed.batch_id, completed.sources) == (0, ({"t": {0: 5}},))


def test_batches_are_ordered_as_numbers(tmp_path: Path):
    completed = newest_completed(log(tmp_path, offsets={9: 1, 10: 2}, commits=[9, 10]))
    assert completed is not None
    assert completed.batch_id == 10


def test_a_source_without_offsets_has_none(tmp_path: Path):
    path = tmp_path / "0"
    path.write_text('v1\n{}\n-\n{"t":{"0":1}}')
    assert read_offsets(path) == ({}, {"t": {0: 1}})


def test_where_the_first_start_began(tmp_path: Path):
    layout = Layout(tmp_path)
    assert initial_offsets(layout) is None
    layout.initial_offsets.parent.mkdir(parents=True)
    layout.initial_offsets.write_text('\0v1\n{"t":{"0":7}}')
    assert initial_offsets(layout) == {"t": {0: 7}}


@pytest.mark.parametrize("text", ["", "\0v1", "\0v2\n{}", "\0v1\n{cut"])
def test_a_damaged_beginning_is_named(tmp_path: Path, text: str):
    layout = Layout(tmp_path)
    layout.initial_offsets.parent.mkdir(parents=True)
    layout.initial_offsets.write_text(text)
    with pytest.raises(PreflightError, match="does not say where the source began"):
        initial_offsets(layout)


@pytest.mark.parametrize("text", ["", "v1", "v1\n{}", "v999\n{}\n{}", "v1\n{}\n{cut", 'v1\n{}\n["t"]'])
def test_a_damaged_entry_is_named(tmp_path: Path, text: str):
    path = tmp_path / "7"
    path.write_text(text)
    with pytest.raises(PreflightError, match="7 is no entry of Spark's offset log"):
        read_offsets(path)


def test_sweep_removes_only_what_a_kill_left(tmp_path: Path):
    layout = log(tmp_path, offsets={0: 1}, commits=[0])
    orphan = layout.commits / ".1.6e7a.tmp"
    orphan.write_text("v1")
    (layout.commits / ".0.crc").write_text("keep")
    assert sweep_temporary_files(layout) == [orphan]
    assert {path.name for path in layout.commits.iterdir()} == {"0", ".0.crc"}
