from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.store.layout import local_layout


@pytest.mark.parametrize(
    ("directory", "root"),
    [
        ("file:///data/orders", "/data/orders"),
        ("/data/orders", "/data/orders"),
        ("file:///with%20space/x", "/with space/x"),
        ("/with space/x", "/with space/x"),
        ("/100%25/x", "/100%25/x"),
    ],
)
def test_local_directories_have_a_layout(directory: str, root: str):
    layout = local_layout(directory)
    assert layout is not None
    assert layout.root == Path(root)
    assert layout.location == f"file:{root}"


@pytest.mark.parametrize("directory", ["hdfs://nn/x", "s3a://bucket/x"])
def test_other_file_systems_have_none(directory: str):
    assert local_layout(directory) is None
