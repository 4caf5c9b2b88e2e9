from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

from milepost.services.hbase import HBase, site
from milepost.services.model import Settings
from milepost.services.ports import choose_ports

PORTS = {"zookeeper": 12181}


def parsed(text: str) -> dict[str, str]:
    root = ElementTree.fromstring(text)
    return {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}


def test_site_binds_loopback_only_and_has_no_web_pages():
    shown = parsed(site(Path("/data/hbase"), PORTS, Settings()))
    for key in ("master.hostname", "regionserver.hostname", "master.ipc.address", "regionserver.ipc.address"):
        assert shown[f"hbase.{key}"] == "127.0.0.1"
    assert (shown["hbase.master.info.port"], shown["hbase.regionserver.info.port"]) == ("-1", "-1")
    assert shown["hbase.zookeeper.property.clientPort"] == "12181"


def test_site_keeps_a_path_with_a_space_and_an_ampersand():
    shown = parsed(site(Path("/my data & more/hbase"), PORTS, Settings()))
    assert shown["hbase.rootdir"] == "file:///my data & more/hbase/data"


def test_users_properties_win_over_defaults_but_not_over_addresses():
    settings = Settings(
        hbase_properties={"hbase.regionserver.handler.count": "3", "hbase.master.ipc.address": "0.0.0.0"}
    )
    shown = parsed(site(Path("/data/hbase"), PORTS, settings))
    assert shown["hbase.regionserver.handler.count"] == "3"
    assert shown["hbase.master.ipc.address"] == "127.0.0.1"


def test_configure_forgets_the_sessions_of_a_killed_process(tmp_path: Path):
    hbase = HBase(tmp_path / "hbase", Settings())
    (hbase.folder / "zookeeper").mkdir(parents=True)
    (hbase.folder / "data").mkdir()
    hbase.configure(PORTS, Path("java"))
    assert sorted(entry.name for entry in hbase.folder.iterdir()) == ["conf", "data"]


def test_address_is_the_quorum():
    hbase = HBase(Path("/data/hbase"), Settings(hbase_heap="700m"))
    assert hbase.address(PORTS) == "127.0.0.1:12181"
    command = hbase.command()
    assert (command[0], command[-2:]) == ("-Xmx700m", ["org.apache.hadoop.hbase.master.HMaster", "start"])


def test_not_usable_while_nothing_listens(tmp_path: Path):
    hbase = HBase(tmp_path, Settings())
    ports = choose_ports(hbase.port_names, {})
    assert not hbase.is_usable(ports, java=Path("java"), waited=timedelta(0))
