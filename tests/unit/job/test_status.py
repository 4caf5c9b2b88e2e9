from __future__ import annotations

import pytest

from milepost.job.status import MOVES, JobStatus, may_move


@pytest.mark.parametrize(
    "status", [JobStatus.FAILED, JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.SUSPENDED]
)
def test_terminal_states_have_no_way_out(status: JobStatus):
    assert status.is_terminal
    assert not any(may_move(status, target) for target in JobStatus)


@pytest.mark.parametrize("status", [JobStatus.CREATED, JobStatus.RUNNING, JobStatus.CANCELLING])
def test_every_other_state_can_end(status: JobStatus):
    assert not status.is_terminal
    assert any(target.is_terminal for target in MOVES[status])


def test_no_job_suspends_itself():
    assert not any(may_move(status, JobStatus.SUSPENDED) for status in JobStatus)


def test_a_job_that_is_cancelling_does_not_run_again():
    assert not may_move(JobStatus.CANCELLING, JobStatus.RUNNING)
