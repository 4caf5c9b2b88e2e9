from __future__ import annotations

import pytest

from milepost.job.status import TRANSITIONS, JobStatus, transition


@pytest.mark.parametrize(
    "status", [JobStatus.FAILED, JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.SUSPENDED]
)
def test_terminal_states_have_no_way_out(status: JobStatus):
    assert status.is_terminal
    assert not TRANSITIONS[status]


@pytest.mark.parametrize("status", [JobStatus.CREATED, JobStatus.RUNNING, JobStatus.CANCELLING])
def test_every_other_state_can_end(status: JobStatus):
    assert not status.is_terminal
    assert any(target.is_terminal for target in TRANSITIONS[status])


def test_no_job_suspends_itself():
    assert not any(JobStatus.SUSPENDED in targets for targets in TRANSITIONS.values())


def test_a_job_that_is_cancelling_does_not_run_again():
    with pytest.raises(AssertionError, match="from CANCELLING to RUNNING"):
        transition(JobStatus.CANCELLING, JobStatus.RUNNING)
    assert transition(JobStatus.CANCELLING, JobStatus.CANCELED) is JobStatus.CANCELED
