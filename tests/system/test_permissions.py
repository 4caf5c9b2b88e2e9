"""What a client may not do on a broker with ACLs (B24) is refused before the start, and named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.system.lab import Lab, Sent

from milepost.errors import PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.pipeline import inspect
from milepost.services import Services
from milepost.services.model import KAFKA, Settings

ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # What has no ACL of its own stays open, for the broker itself as well.
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def guarded(lab: Lab) -> Iterator[Lab]:
    """The lab with a broker of its own that checks permissions."""
    instance = Services(lab.folder("services"), settings=Settings(kafka_properties=ACLS))
    try:
        bootstrap_servers = instance.up(frozenset({KAFKA})).bootstrap_servers
        yield replace(lab, services=replace(lab.services, bootstrap_servers=bootstrap_servers))
    finally:
        instance.down()


def allow_only(
    lab: Lab, kind: ResourceType, name: str, operation: AclOperation, who: str = "ANONYMOUS"
) -> None:
    """Let one client, by default our own, do this one thing with the resource; nobody may do anything else."""
    binding = AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        f"User:{who}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient(lab.kafka)
    for answer in admin.create_acls([binding]).values():
        answer.result(timeout=30)


def refusal(lab: Lab, topic: str, **source: object) -> PreflightError:
    config = lab.config(
        topic,
        "any",
        source={"format": "string"} | source,
        sink={"row-key": ["key"], "columns": {"d": ["value"]}},
    )
    with pytest.raises(PreflightError) as raised:
        inspect(lab.spark, config, None)
    assert raised.value.exit_code == 2
    assert raised.value.fix.startswith("Grant ")
    return raised.value


def test_a_topic_that_may_be_seen_and_not_read(guarded: Lab) -> None:
    topic = guarded.topic(Sent(b"v", b"k"))
    allow_only(guarded, ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    assert f"not allowed to read topic '{topic}'" in refusal(guarded, topic).what


def test_a_dead_letter_topic_that_may_not_be_written(guarded: Lab) -> None:
    topic, dead = guarded.topic(Sent(b"v", b"k")), guarded.topic(prefix="dead")
    allow_only(guarded, ResourceType.TOPIC, dead, AclOperation.READ)
    error = refusal(guarded, topic, **{"bad-records": {"dead-letter": dead}})
    assert f"not allowed to write the dead-letter topic '{dead}'" in error.what


def test_a_group_that_may_not_be_looked_at(guarded: Lab) -> None:
    topic, group = guarded.topic(Sent(b"v", b"k")), guarded.name("group")
    allow_only(guarded, ResourceType.GROUP, group, AclOperation.READ, who="somebody-else")
    error = refusal(guarded, topic, **{"group-id": group})
    assert "does not allow this client to describe the topics or the group" in error.what


def test_a_group_that_may_not_be_touched_does_not_stop_a_job_that_need_not_ask_it(guarded: Lab) -> None:
    topic, group = guarded.topic(Sent(b"v", b"k")), guarded.name("group")
    allow_only(guarded, ResourceType.GROUP, group, AclOperation.READ, who="somebody-else")
    config = guarded.config(
        topic,
        guarded.table("d"),
        source={"format": "string", "group-id": group, "start": "earliest"},
        sink={"row-key": ["key"], "columns": {"d": ["value"]}},
    )
    told: list[str] = []
    log = guarded.root / "driver.log"
    spec = JobSpec(spark=guarded.spark, config=config, folder=guarded.root, log=log, warn=told.append)
    job = start_job(prepare_job(spec))
    assert job.wait() is JobStatus.FINISHED
    assert len(guarded.cells(config)) == 1
    assert any(group in sentence for sentence in told), "that its offsets are not committed is told"
