"""The console shows the first rows of each checkpoint, once it is complete."""

from __future__ import annotations

import pytest
from tests.system.lab import Lab, numbered

from milepost.config import Config


def test_the_first_rows_of_each_checkpoint_are_printed(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    source = {"format": "json", "schema": "id STRING, n INT", "max-offsets-per-trigger": 4}
    document = lab.document(lab.topic(*numbered(6)), "unused", source=source)
    lab.finish(Config(**document | {"sink": {"console": {"rows": 3}}}))
    assert capsys.readouterr().out.splitlines() == [
        "checkpoint 0: 4 rows",
        "  id  n",
        "  k0  0",
        "  k1  1",
        "  k2  2",
        "  … 1 more",
        "checkpoint 1: 2 rows",
        "  id  n",
        "  k4  4",
        "  k5  5",
    ]
