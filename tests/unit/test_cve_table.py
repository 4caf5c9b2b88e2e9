"""What happened to others must not happen here: one test for each attack that has a counterpart in Milepost.

The rows are those of docs/security.md, which also says which do not apply and why. What needs a running job (ports,
flags of its JVMs) is in tests/system/test_security.py.
"""

from __future__ import annotations

import ast
import re
import stat
import tempfile
from pathlib import Path

import pytest
from tests.unit.checkpoint.savepoint.test_hostile import ROWS as HOSTILE_SAVEPOINTS
from tests.unit.rest.asgi import JOB, READ_TOKEN, Server, routes

from milepost.checkpoint.savepoint import catalog
from milepost.config.reading.document import DocumentError, parse_document
from milepost.job.spark import scratch
from milepost.job.spark.hardening import KAFKA_FLAGS, defaults
from milepost.job.spark.session import spark_conf
from milepost.rest.view.savepoint_targets import is_inside

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/milepost").rglob("*.py"))
JAVA = sorted((ROOT / "java/engine/src/main").rglob("*.java"))
SCRIPTS = [path for path in (ROOT / "src/milepost/web").rglob("*.js")]
LINT = re.findall(r'"(S\d{3})"', (ROOT / "pyproject.toml").read_text())

WAYS_OUT = [
    "..",
    "../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "..%252f..%252f..%252fetc%252fpasswd",
    "%2e%2e%252f%2e%2e%252fetc%252fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "..\\..\\etc\\passwd",
    "etc/passwd\0.json",
    "file:///etc/passwd",
    "http://evil.example/x",
]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    (tmp_path / "savepoints").mkdir()
    return Server(tmp_path, savepoint_dir=str(tmp_path / "savepoints"))


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


# ---- Flink ----


PARAMETERS = [
    (method, path, name)
    for method, path in [*routes(), ("GET", "/web/{name}")]
    if not path.startswith("/v1/")  # the same functions
    for name in re.findall(r"{(\w+)}", path)
]


@pytest.mark.parametrize(("method", "path", "name"), PARAMETERS)
def test_cve_2020_17519_no_name_in_a_path_leads_to_a_file(method: str, path: str, name: str, server: Server):
    (server.folder / "link").symlink_to("/etc/passwd")
    for way in [*WAYS_OUT, "link"]:
        target = re.sub(r"{(\w+)}", lambda m, way=way: way if m[1] == name else JOB, path)  # type: ignore[misc]
        answer = server.ask(method, target, b"{}" if method != "GET" else None)
        # Where a name means nothing, nothing is what comes of it.
        assert answer.status in (400, 403, 404, 405) or answer.text == "[]", (target, answer)
        assert "root:" not in answer.text


@pytest.mark.parametrize("way", WAYS_OUT)
def test_cve_2020_17519_no_name_in_a_body_leads_out_either(way: str, server: Server):
    for path, field in (
        (f"/jobs/{JOB}/savepoints", "target-directory"),
        (f"/jobs/{JOB}/stop", "targetDirectory"),
        ("/savepoint-disposal", "savepoint-path"),
    ):
        answer = server.post(path, {field: way})
        assert answer.status == 400, (path, answer)
    assert server.job.asked == []


def test_cve_2020_17519_a_link_inside_the_root_does_not_lead_out(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    assert is_inside(str(tmp_path / "root"), str(tmp_path / "root" / "new"))
    assert not is_inside(str(tmp_path / "root"), str(tmp_path / "root" / "link" / "new"))


def test_cve_2020_17518_nothing_can_be_uploaded(server: Server):
    boundary = b'--x\r\nContent-Disposition: form-data; name="f"; filename="../../x"\r\n\r\ndata\r\n--x--\r\n'
    for method, path in routes():
        target = re.sub(r"{\w+}", JOB, path)
        answer = server.ask(method, target, boundary, content_type="multipart/form-data; boundary=x")
        assert answer.status == 415, (method, path, answer)


def test_cve_2020_17518_every_body_is_json(server: Server):
    named = server.get("/openapi.json").json["paths"]
    kinds = {
        kind
        for methods in named.values()
        for operation in methods.values()
        for kind in operation.get("requestBody", {}).get("content", {})
    }
    assert kinds == {"application/json"}


@pytest.mark.parametrize(
    "path", ["/jars/upload", "/v1/jars/upload", "/jars/x/run", "/jobs", "/v1/submissions/create"]
)
def test_flinks_dashboard_no_code_is_taken(path: str, server: Server):
    assert server.post(path, {}).status in (403, 404, 405)
    assert server.get("/config").json["features"]["web-submit"] is False


def test_cve_2020_1960_no_port_of_jmx_is_opened():
    conf = spark_conf("local[2]", {}, Path("/log"))
    options = conf["spark.driver.extraJavaOptions"] + conf["spark.executor.extraJavaOptions"]
    assert "jmx" not in options.lower()
    assert "rmi" not in options.lower()


# ---- Spark ----


def test_cve_2022_33891_no_shell_is_ever_asked():
    assert {"S602", "S605"} <= set(LINT)
    calls = re.compile(r"shell\s*=\s*True|os\.system\(|os\.popen\(|getoutput\(|getstatusoutput\(")
    assert [path for path in SOURCES if calls.search(path.read_text())] == []


def test_cve_2022_33891_an_id_is_nothing_but_an_id(server: Server):
    for text in ("`id`", "$(id)", ";id", "a|id", "x' OR 1=1"):
        assert server.get(f"/jobs/{text}").status in (400, 404)


def test_cve_2025_54920_nothing_that_is_stored_becomes_an_object():
    assert {"S301"} <= set(LINT)
    modules = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "jsonpickle", "pyspark.cloudpickle"}
    assert {path.name: found for path in SOURCES if (found := imports(path) & modules)} == {}
    assert [
        path.name for path in JAVA if re.search(r"Object(In|Out)putStream|XMLDecoder", path.read_text())
    ] == []
    assert [
        path.name for path in JAVA if re.search(r"enableDefaultTyping|JsonTypeInfo", path.read_text())
    ] == []


HTML = "<img src=x onerror=alert(1)><script>alert(1)</script>"


def test_cve_2018_8024_what_is_said_in_an_answer_is_text(server: Server):
    for path in (f"/jobs/{HTML}", f"/{HTML}", f"/jobs/{JOB}/checkpoints/details/{HTML}"):
        answer = server.get(path)
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "<script" not in answer.text


def test_cve_2026_32773_no_page_runs_what_it_is_given(server: Server):
    page = server.get("/")
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|\son\w+\s*=|javascript:", page.text)
    assert SCRIPTS
    makes_html = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setTimeout\(\s*['\"]"
    )
    assert [path.name for path in SCRIPTS if makes_html.search(path.read_text())] == []


def test_cve_2018_1334_other_users_find_nothing_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert stat.S_IMODE(scratch.create().stat().st_mode) == 0o700
    named = "ALLOW_INSECURE_GATEWAY"
    assert [path for path in SOURCES if named in path.read_text()] == []
    assert defaults("local[2]")["spark.authenticate"] == "true"
    assert spark_conf("local[2]", {}, Path("/log"))["spark.driver.bindAddress"] == "127.0.0.1"


def test_cve_2018_11770_no_master_takes_programs():
    assert spark_conf("local-cluster[1,1,512]", {}, Path("/log"))["spark.master.rest.enabled"] == "false"


# ---- Kafka's client, Kafka's pages ----


def test_cve_2023_25194_and_others_kafkas_client_has_its_flags_on_both_sides():
    conf = spark_conf("yarn", {}, Path("/log"))
    for side in ("driver", "executor"):
        assert all(flag in conf[f"spark.{side}.extraJavaOptions"].split() for flag in KAFKA_FLAGS)


def test_cve_2023_25194_no_request_sets_a_property(server: Server):
    fields = {
        name
        for schema in server.get("/openapi.json").json["components"]["schemas"].values()
        for name in schema.get("properties", {})
    }
    assert fields
    assert not [name for name in fields if re.search(r"propert|config|conf$|option|jaas|url|uri", name, re.I)]


def test_cve_2023_52251_no_request_is_evaluated(server: Server):
    assert {"S102", "S307"} <= set(LINT)
    named = server.get("/openapi.json").json["paths"]
    queries = {
        each["name"]
        for methods in named.values()
        for operation in methods.values()
        for each in operation.get("parameters", ())
        if each["in"] == "query"
    }
    assert not [name for name in queries if re.search(r"filter|expr|sql|script|query|where", name, re.I)]


# ---- Ray ----


def test_cve_2023_48022_loopback_is_no_login(server: Server):
    for method, path in routes():
        answer = server.ask(method, re.sub(r"{\w+}", JOB, path), None, authorization="")
        assert answer.status == 401, (method, path)


def test_cve_2023_48023_no_address_is_fetched_for_a_request():
    clients = {"urllib.request", "requests", "http.client", "httpx", "aiohttp", "urllib3"}
    serving = [
        path for path in SOURCES if path.parts[-2] in ("rest", "route", "body") and path.name != "client.py"
    ]
    assert serving
    assert {path.name: found for path in serving if (found := imports(path) & clients)} == {}


def test_cve_2025_62593_a_foreign_name_for_loopback_is_refused(server: Server):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8081", "0x7f000001"):
        for token in ("", f"Bearer {READ_TOKEN}"):
            answer = server.get("/jobs", host=host, authorization=token, user_agent="curl/8")
            assert answer.status == 403


# ---- PyYAML, restore ----


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['id']",
        "a: !!python/name:os.system",
        "a: !<tag:yaml.org,2002:python/object/new:subprocess.Popen> [id]",
    ],
)
def test_cve_2017_18342_no_tag_makes_an_object(text: str):
    assert "S506" in LINT
    with pytest.raises(DocumentError):
        parse_document(text)


def test_cve_2017_18342_no_alias_grows_without_bound():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(DocumentError):
        parse_document(bomb)


def test_iceberg_16478_a_restore_reads_json_with_checksums(tmp_path: Path):
    assert HOSTILE_SAVEPOINTS
    (tmp_path / "_metadata").write_bytes(b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap")
    with pytest.raises(Exception, match="is not the manifest of a savepoint"):
        catalog.load(str(tmp_path))
