"""The look-up runs only if it honours every setting of the HBase client."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import pytest

from milepost.config import HBaseSink
from milepost.sink.lookup.settings import find_ensemble, reads_other_settings


def sink(**keys: Any) -> HBaseSink:
    return HBaseSink(**{"table": "t", "row_key": ["id"], "columns": {"d": ["v"]}, **keys})


def site(folder: Path, **properties: str) -> HBaseSink:
    each = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
    file = folder / "hbase-site.xml"
    file.write_text(f"<?xml version='1.0'?><configuration>{''.join(each)}</configuration>")
    return sink(site=str(file))


def test_a_quorum() -> None:
    found = find_ensemble(sink(quorum="a:1,b"))
    assert found is not None
    assert (found.servers, found.parent) == ((("a", 1), ("b", 2181)), "/hbase")


def test_a_site_file(tmp_path: Path) -> None:
    found = find_ensemble(
        site(
            tmp_path,
            **{
                "hbase.zookeeper.quorum": "a, b:7,[::1]:8",
                "hbase.zookeeper.property.clientPort": "2182",
                "zookeeper.znode.parent": "/hbase-unsecure",
                "hbase.security.authentication": "simple",
                "hbase.rpc.timeout": "5000",
            },
        )
    )
    assert found is not None
    assert found.servers == (("a", 2182), ("b", 7), ("::1", 8))
    assert found.parent == "/hbase-unsecure"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hbase.security.authentication", "kerberos"),
        ("hbase.client.netty.tls.enabled", "true"),
        ("hbase.zookeeper.property.ssl.trustStore.location", "store.jks"),
        ("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry"),
        ("hbase.rpc.protection", "privacy"),
    ],
)
def test_security_and_other_registries_are_left_to_the_client(key: str, value: str, tmp_path: Path) -> None:
    assert find_ensemble(sink(quorum="a:1", properties={key: value})) is None
    assert find_ensemble(site(tmp_path, **{"hbase.zookeeper.quorum": "a", key: value})) is None


def test_a_site_file_with_variables_or_without_a_quorum_is_left_to_the_client(tmp_path: Path) -> None:
    assert find_ensemble(site(tmp_path, **{"hbase.zookeeper.quorum": "${hosts}"})) is None
    assert find_ensemble(site(tmp_path)) is None


def test_a_site_file_that_includes_another_or_is_incomplete(tmp_path: Path) -> None:
    file = tmp_path / "site.xml"
    file.write_text("<configuration>")
    with pytest.raises(ParseError):
        find_ensemble(sink(site=str(file)))
    file.write_text("<configuration><include href='other.xml'/></configuration>")
    with pytest.raises(ValueError, match="<include>"):
        find_ensemble(sink(site=str(file)))


def test_settings_from_elsewhere(tmp_path: Path) -> None:
    assert not reads_other_settings({}, {"HADOOP_CONF_DIR": str(tmp_path)}, tmp_path)
    assert not reads_other_settings({"spark.driver.extraJavaOptions": "-Xmx2g"}, {}, tmp_path)
    assert reads_other_settings(
        {"spark.driver.extraJavaOptions": "-Dzookeeper.client.secure=true"}, {}, tmp_path
    )
    assert reads_other_settings({"spark.kerberos.principal": "p"}, {}, tmp_path)
    assert reads_other_settings({"spark.hadoop.hadoop.security.authentication": "kerberos"}, {}, tmp_path)
    assert not reads_other_settings({"spark.hadoop.fs.s3a.endpoint": "e"}, {}, tmp_path)
    assert reads_other_settings({}, {"JAVA_TOOL_OPTIONS": "-Djava.security.krb5.conf=/k"}, tmp_path)


@pytest.mark.parametrize("variable", ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"])
def test_site_files_on_the_class_path(variable: str, tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("")
    assert reads_other_settings({}, {variable: str(tmp_path)}, tmp_path / "spark")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "hbase-site.xml").write_text("")
    assert reads_other_settings({}, {}, tmp_path)
