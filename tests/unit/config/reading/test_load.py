"""From a file to a configuration: B28 in full, `--set`, and never any error but ConfigError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from milepost.config import Checkpointing, Config, load_config, parse_config
from milepost.errors import ConfigError

GOOD = """\
name: orders
source:
  kafka:
    bootstrap-servers: localhost:9092
    topics: [orders]
    group-id: orders-to-hbase
    start: group-offsets
    start-fallback: earliest
    stop: never
    commit: disabled
    format: json
    schema: id STRING, customer STRING, amount DOUBLE, op STRING
    bad-records: fail
    watermark: none
    properties: {}
transform:
  sql: SELECT id, customer, amount, op FROM source
sink:
  hbase:
    quorum: localhost:2181
    table: orders
    row-key: [id]
    columns: {d: [customer, amount]}
    op: op
    encoding: native
    version: offset
    flush: {rows: 1000, bytes: 8mb, interval: 1s}
    write: mutations
    guard: none
    create-table: {regions: 4}
checkpointing:
  dir: file:///data/milepost/orders
  interval: 10s
  mode: exactly-once
  execution: micro-batch
  min-pause: 0s
  timeout: 10m
  max-concurrent: 1
  tolerable-failures: 0
  retained: 10
  on-cancel: retain
  state-backend: rocksdb
restart:
  strategy: none
spark: {master: "local[*]", conf: {}}
"""


@pytest.fixture
def refusal(tmp_path: Path):
    """Return what a file, and overrides, are refused with."""

    def of(text: str | bytes, *overrides: str) -> ConfigError:
        file = tmp_path / "orders.yaml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigError) as caught:
            load_config(file, overrides)
        assert caught.value.exit_code == 2
        assert caught.value.__context__ is None or caught.value.__suppress_context__, (
            "a stack trace must not quote the file"
        )
        return caught.value

    return of


@pytest.fixture
def loaded(tmp_path: Path):
    def of(*overrides: str, text: str = GOOD) -> Config:
        file = tmp_path / "orders.yaml"
        file.write_text(text)
        return load_config(file, overrides)

    return of


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_the_documented_file_is_read(loaded):
    config = loaded()
    assert config.name == "orders"
    assert config.views["source"].topics == ("orders",)
    assert config.sink.hbase.create_table is not None


# B28 row by row: what is written, the path in the error, its line, and words of the sentence.
B28 = {
    "unknown key": (GOOD + "colour: red\n", "colour", 46, "is not a known key"),
    "typo": (replaced("start-fallback", "start-falback"), "source.kafka.start-falback", 8, "start-fallback?"),
    "wrong type": (replaced("topics: [orders]", "topics: 5"), "source.kafka.topics", 5, "must be a list"),
    "negative interval": (
        replaced("interval: 10s", "interval: -10s"),
        "checkpointing.interval",
        33,
        "must not be negative",
    ),
    "interval without unit": (
        replaced("interval: 10s", "interval: 10"),
        "checkpointing.interval",
        33,
        "has no unit",
    ),
    "zero flush interval": (
        replaced("interval: 1s", "interval: 0"),
        "sink.hbase.flush.interval",
        27,
        "greater than zero",
    ),
    "timeout < interval": (
        replaced("timeout: 10m", "timeout: 5s"),
        "checkpointing.timeout",
        37,
        "shorter than",
    ),
    "min pause > interval": (
        replaced("min-pause: 0s", "min-pause: 11s"),
        "checkpointing.min-pause",
        36,
        "longer than interval",
    ),
    "retries -1": (
        replaced("tolerable-failures: 0", "tolerable-failures: -1"),
        "checkpointing.tolerable-failures",
        39,
        "at least 0",
    ),
    "empty bootstrap": (
        replaced("bootstrap-servers: localhost:9092", "bootstrap-servers: ''"),
        "source.kafka.bootstrap-servers",
        4,
        "is empty",
    ),
    "duplicate key": (GOOD + "name: again\n", "name", 46, "duplicate of the key on line 1"),
    "tab": (GOOD + "\trest: x\n", "", 46, "tab where YAML requires spaces"),
    "python object": (GOOD + "x: !!python/object/apply:os.system [id]\n", "x", 46, "has a tag python/object"),
    "alias bomb": (
        GOOD
        + "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b ["
        + ",".join(["*a"] * 100)
        + "]\nc: ["
        + ",".join(["*b"] * 100)
        + "]\n",
        "",
        48,
        "after its aliases are expanded",
    ),
    "a megabyte": ("x: " + "y" * (1 << 20), "", None, "larger than 1 MiB"),
    "second document": (GOOD + "---\nname: b\n", "", 46, "second document"),
    "list": ("- name\n", "", None, "must be a mapping"),
    "scalar": ("orders\n", "", None, "must be a mapping"),
    "empty": ("# nothing\n", "", None, "is empty"),
}


@pytest.mark.parametrize("case", B28)
def test_b28_refused_with_key_path_and_line(refusal, case: str):
    text, path, line, sentence = B28[case]
    (fault,) = refusal(text).faults
    assert (fault.path, fault.line) == (path, line)
    assert sentence in fault.message


def test_b28_one_error_list_with_every_fault(refusal):
    text = GOOD
    for old, new in {
        "name: orders": "name: or ders",
        "topics: [orders]": "topics: [a, a b, c]",
        "start-fallback": "start-falback",
        "flush: {rows: 1000": "flush: {rows: -1",
        "timeout: 10m": "timeout: 5s",
        "min-pause: 0s": "min-pause: 11s",
        "retained: 10": "retained: 0",
        "strategy: none": "strategy: sometimes",
    }.items():
        assert old in text
        text = text.replace(old, new, 1)
    error = refusal(text)
    # The last two are only seen when keys are looked at together, which wrong keys beside them must not hide.
    assert sorted(fault.path for fault in error.faults) == sorted(
        [
            "name",
            "source.kafka.topics[1]",
            "source.kafka.start-falback",
            "sink.hbase.flush.rows",
            "checkpointing.retained",
            "restart.strategy",
            "checkpointing.timeout",
            "checkpointing.min-pause",
        ]
    )
    assert "8 faults" in str(error)
    assert all(fault.line for fault in error.faults)


def test_wrong_value_is_not_blamed_again_through_its_default(refusal):
    text = replaced("interval: 10s", "interval: soon").replace("timeout: 10m", "timeout: 5s")
    assert [f.path for f in refusal(text).faults] == ["checkpointing.interval"]


def test_faults_between_sections_are_seen_beside_others(refusal):
    text = replaced("topics: [orders]", "topics: [a, b]").replace("retained: 10", "retained: 0")
    assert [f.path for f in refusal(text).faults] == ["checkpointing.retained", "sink.hbase.version"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"name: \xe9\n"])
def test_not_utf8(refusal, content: bytes):
    assert "not UTF-8" in str(refusal(content))


def test_byte_order_mark_is_fine(tmp_path: Path):
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_config(tmp_path / "a.yaml").name == "orders"


@pytest.mark.parametrize("name", ["nope.yaml", ".", "a\0b"])
def test_missing_file(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / name)


def test_snake_case_is_for_python_only(refusal):
    (fault,) = refusal(
        replaced("group-id", "group_id").replace("start: group-offsets", "start: latest")
    ).faults
    assert (fault.path, "did you mean group-id?" in fault.message) == ("source.kafka.group_id", True)


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("checkpointing.interval=5 min", lambda c: c.checkpointing.interval.total_seconds() == 300),
        ("sink.hbase.table=ns:orders", lambda c: c.sink.hbase.table == "ns:orders"),
        ("sink.hbase.flush.rows=5", lambda c: c.sink.hbase.flush.rows == 5),
        ("spark.master=local[2]", lambda c: c.spark.master == "local[2]"),
        (
            "source.kafka.properties.fetch.min.bytes=7",
            lambda c: c.views["source"].properties["fetch.min.bytes"] == "7",
        ),
        ("spark.conf.spark.ui.enabled=false", lambda c: c.spark.conf["spark.ui.enabled"] == "false"),
        ("source.kafka.topics=[a]", lambda c: c.views["source"].topics == ("a",)),
        ("source.kafka.start={offsets: {orders: {0: 42}}}", lambda c: c.views["source"].start.offsets),
        ("sink.hbase.op=", lambda c: c.sink.hbase.op is None),
        ("transform=", lambda c: c.transform is None),
        ("sink.hbase.delete=columns", lambda c: c.sink.hbase.delete == "columns"),
        ("name='5'", lambda c: c.name == "5"),
        ("name=a\n", lambda c: c.name == "a"),
    ],
)
def test_set_changes_a_key(loaded, override: str, read):
    assert read(loaded(override))


def test_last_set_wins(loaded):
    assert loaded("name=a", "name=b").name == "b"


@pytest.mark.parametrize(
    ("override", "path", "sentence"),
    [
        ("name", "", "must be key.path=value"),
        ("=5", "", "must be key.path=value"),
        ("a..b=5", "a..b", "must be key.path=value"),
        ("name.x=5", "name.x", "reaches below name"),
        ("name=[1", "name", "value that cannot be parsed"),
        ("chekpointing.interval=5s", "chekpointing", "did you mean checkpointing?"),
        ("checkpointing.interval=5", "checkpointing.interval", "has no unit"),
        ("source.kafka.group-id=${env:NOT_THERE}", "source.kafka.group-id", "NOT_THERE is not set"),
    ],
)
def test_wrong_set_is_a_fault(refusal, override: str, path: str, sentence: str):
    (fault,) = refusal(GOOD, override).faults
    assert fault.path == path
    assert sentence in fault.message


def test_secrets_come_from_environment_and_files(loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GROUP", "secret-group")
    (tmp_path / "pw").write_text("hunter2\n")
    config = loaded("source.kafka.group-id=${env:GROUP}", "source.kafka.properties.x=${file:pw}")
    assert (config.views["source"].group_id, config.views["source"].properties["x"]) == (
        "secret-group",
        "hunter2",
    )
    assert config.redact("hunter2 of secret-group") == "****** of ******"


def test_missing_secret_is_one_fault_with_its_line(refusal):
    error = refusal(
        replaced("interval: 10s", "interval: ${env:NOT_THERE}").replace("name: orders", "name: a b")
    )
    assert [(f.path, f.line) for f in error.faults] == [("checkpointing.interval", 33), ("name", 1)]


def test_relative_paths_are_relative_to_the_file(loaded, tmp_path: Path):
    (tmp_path / "hbase-site.xml").write_text("<configuration/>")
    config = loaded("sink.hbase.quorum=", "sink.hbase.site=hbase-site.xml")
    assert config.sink.hbase.site == str(tmp_path / "hbase-site.xml")


def test_relative_directories_are_relative_to_the_file(loaded, tmp_path: Path, monkeypatch):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    config = loaded(
        "checkpointing.dir=data/orders/",
        "checkpointing.savepoint-dir=./a/../savepoints",
        "sink.hbase.staging-dir=staging",
        "rest.tls={certificate: tls/rest.crt, key: tls/rest.key}",
    )
    assert config.checkpointing.dir == str(tmp_path / "data" / "orders")
    assert config.checkpointing.savepoint_dir == str(tmp_path / "savepoints")
    assert config.sink.hbase.staging_dir == str(tmp_path / "staging")
    assert (config.rest.tls.certificate, config.rest.tls.key) == (
        str(tmp_path / "tls" / "rest.crt"),
        str(tmp_path / "tls" / "rest.key"),
    )


def test_one_relative_directory_has_one_name_whatever_way_the_file_is_named(loaded, tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    overrides = ["checkpointing.dir=data"]
    direct = loaded(*overrides).checkpointing.dir
    (file,) = tmp_path.glob("*.yaml")
    for other in (tmp_path / "link" / file.name, tmp_path / "link" / ".." / tmp_path.name / file.name):
        assert load_config(other, overrides).checkpointing.dir == direct


def test_in_python_a_relative_directory_is_below_the_working_directory(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Checkpointing(dir="data").dir == str(tmp_path / "data")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Checkpointing(dir="~/data").dir == str(tmp_path / "home" / "data")


def test_parse_config_leaves_its_argument_alone(job):
    values = job({"source/kafka/start": "nope", "sink/hbase/zzz": 1})
    before = repr(values)
    with pytest.raises(ConfigError):
        parse_config(values)
    assert repr(values) == before


KEYS = st.sampled_from(
    """
    name source sources kafka bootstrap-servers topics topic-pattern group-id start offsets
    timestamp stop format python schema bad-records dead-letter properties sink hbase quorum site
    table row-key columns version column flush rows bytes interval checkpointing dir timeout
    min-pause restart strategy spark conf rest transform sql
    """.split()
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["latest", "avro", "json", "10s", "8mb", "a:1", "${env:X", "x.avsc", "/x", "(", "-1", "$${"]
    ),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(KEYS, st.text(max_size=3), st.integers()), inner, max_size=5),
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, TREES, max_size=6))
def test_no_tree_brings_out_anything_but_a_config_error(tree: dict[str, Any]):
    with pytest.raises(ConfigError) as caught:
        parse_config(tree)
    assert caught.value.faults


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.lists(KEYS, min_size=1, max_size=3), value=TREES)
def test_no_change_of_a_good_job_brings_out_anything_but_a_config_error(job, path: list[str], value: Any):
    for prefix in ("", "source/kafka/", "sink/hbase/", "checkpointing/"):
        tree = job({})
        at: Any = tree
        *outer, last = [*prefix.split("/")[:-1], *path]
        for key in outer:
            at = at.setdefault(key, {}) if isinstance(at, dict) else {}
        if isinstance(at, dict):
            at[last] = value
        try:
            parse_config(tree)
        except ConfigError as error:
            faults = error.faults
        else:
            continue
        assert faults
