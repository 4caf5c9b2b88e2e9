"""What the shell offers on Tab; it answers from files of this machine alone, and an error is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost.checkpoint.model import CheckpointId

MOST = 200


def jobs(incomplete: str) -> list[tuple[str, str]]:
    """Return the running jobs of this user whose name or id begins so; the shell adds files where there is none."""
    from milepost.job import registry

    try:
        running = list(registry.entries())
    except Exception:  # a shell that waits for an answer has no place for a sentence
        return []
    named = [(each.name, f"running, id {each.job_id}") for each in running]
    by_id = [(each.job_id, f"id of {each.name}") for each in running] if incomplete else []
    return [(word, note) for word, note in (*named, *by_id) if word.startswith(incomplete)]


def checkpoints(ctx: Any, incomplete: str) -> list[str]:
    """Return the stored checkpoints of the JOB that the line names already, newest first."""
    job = ctx.params.get("job")
    if not isinstance(job, str):
        return []
    try:
        ids = sorted(_stored(job), reverse=True)
    except Exception:  # the same
        return []
    return [str(each) for each in ids if str(each).startswith(incomplete)][:MOST]


def claim_modes(incomplete: str) -> list[str]:
    """Return the values of --claim-mode."""
    return [mode for mode in ("no-claim", "claim") if mode.startswith(incomplete)]


def _stored(job: str) -> list[CheckpointId]:
    from milepost.checkpoint.store.checkpoints import CheckpointFiles
    from milepost.cli.argument.checkpoint_place import resolve

    return CheckpointFiles(resolve(job).store).ids()
