"""What `import milepost` offers: every name is there, and none imports Spark before it is used."""

from __future__ import annotations

import subprocess
import sys

import milepost


def test_every_name_is_there() -> None:
    assert {name for name in milepost.__all__ if not hasattr(milepost, name)} == set()


def test_the_package_alone_imports_no_spark() -> None:
    check = "import sys, milepost; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
