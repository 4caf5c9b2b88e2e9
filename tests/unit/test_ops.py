"""The Grafana dashboard and the alert rules speak of metrics and labels that exist, and lead to sections that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from milepost.rest.metrics.catalog import prometheus_metrics, prometheus_name
from milepost.rest.metrics.model import Kind, Scope

ROOT = Path(__file__).parents[2]
BOARD = json.loads((ROOT / "ops" / "grafana" / "milepost.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((ROOT / "ops" / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]

JOB = {"job_id", "job_name"}
LABELS = {
    Scope.JOBMANAGER: {"host"},
    Scope.JOB: {"host"} | JOB,
    Scope.TASK: {"host", "tm_id", "task_name", "subtask_index"} | JOB,
    Scope.OPERATOR: {"host", "tm_id", "task_name", "subtask_index", "operator_name"} | JOB,
    Scope.MILEPOST: JOB,
}
KNOWN = {
    prometheus_name(metric): LABELS[metric.scope] | set(metric.labels) for metric in prometheus_metrics()
}
KNOWN["up"] = {"job", "instance"}  # Prometheus' own, of every target
COUNTERS = {
    prometheus_name(m) for m in prometheus_metrics() if m.kind is Kind.COUNTER and m.scope is Scope.MILEPOST
}

FUNCTIONS = {"rate", "increase", "deriv", "changes", "time", "sum", "min", "max", "label_values"}
WORDS = {"by", "on", "and", "or", "unless", "group_left"} | FUNCTIONS
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
TOKENS = re.compile(
    r'"(?:[^"\\]|\\.)*"|\[(?:\d+[smhd]|\$__rate_interval|\$__interval)\]|[a-zA-Z_:][a-zA-Z0-9_:]*|\d+(?:\.\d+)?'
    r"|=~|!~|!=|==|>=|<=|[-+*/<>=(){},]|\s+"
)


def expressions() -> Iterator[tuple[str, str]]:
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for annotation in BOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]


EXPRESSIONS = dict(expressions())


def metrics_in(expression: str) -> list[tuple[str, set[str]]]:
    """Return the metrics that an expression names, each with the labels that it selects by."""
    bare = re.sub(r"\b(by|on|group_left)\s*\([^)]*\)", " ", expression)
    bare = re.sub(r"\[[^]]*\]", " ", bare)
    bare = re.sub(r"label_values\((.*),\s*\w+\)$", r"\1", bare)
    found = []
    for name, selector in SELECTOR.findall(bare):
        if name not in WORDS and ("_" in name or selector):
            found.append((name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", TEXT.sub('""', selector)))))
    return found


def test_the_reader_of_expressions_sees_metrics_and_labels():
    expression = (
        'sum by (job_id) (increase(milepost_x_total{reason!~"A.*",job_id="b"}[10m])) > 0 and flink_y / 1000'
    )
    assert metrics_in(expression) == [("milepost_x_total", {"reason", "job_id"}), ("flink_y", set())]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_metrics_and_labels_exist(name: str):
    found = metrics_in(EXPRESSIONS[name])
    assert found
    for metric, labels in found:
        assert metric in KNOWN, metric
        assert labels <= KNOWN[metric], (metric, labels)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_made_of_known_words_and_its_brackets_close(name: str):
    expression = EXPRESSIONS[name].replace("$job_id", "x").replace("$job", "x")
    assert "".join(TOKENS.findall(expression)) == expression
    open_: list[str] = []
    for sign in re.findall(r"[(){}]", TEXT.sub("", expression)):
        if sign in "({":
            open_.append(sign)
        else:
            assert open_.pop() == {")": "(", "}": "{"}[sign]
    assert open_ == []


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_counters_are_shown_by_how_they_grow(name: str):
    expression = EXPRESSIONS[name]
    for metric, _ in metrics_in(expression):
        if metric in COUNTERS:
            assert re.search(rf"\b(rate|increase)\({metric}\b", expression), metric


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_is_and_leads_to_its_section(rule: dict[str, Any]):
    assert rule["labels"]["severity"] in ("warning", "critical")
    notes = rule["annotations"]
    assert notes["summary"]
    assert notes["description"].endswith(".")
    page, _, anchor = notes["runbook_url"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-").replace(",", "") for heading in headings}
    used = set(re.findall(r"\$labels\.(\w+)", f"{notes['summary']} {notes['description']}"))
    assert used <= set().union(*(KNOWN[metric] for metric, _ in metrics_in(rule["expr"])))


def test_alerts_and_panels_have_names_of_their_own():
    names = [rule["alert"] for rule in ALERTS]
    assert len(names) == len(set(names))
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_panels_do_not_lie_on_each_other():
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
