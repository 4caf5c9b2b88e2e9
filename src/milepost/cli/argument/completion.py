"""Shell completion; it reads only files of this machine, and offers nothing if they cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost.checkpoint.model import CheckpointId

MAX_RESULTS = 200


def jobs(incomplete: str) -> list[tuple[str, str]]:
    """Return the running jobs of this user whose name or id has this prefix; without any, the shell offers files."""
    from milepost.job import registry

    try:
        running = list(registry.entries())
    except Exception:  # an error message would end up in the command line
        return []
    named = [(each.name, f"running, id {each.job_id}") for each in running]
    by_id = [(each.job_id, f"id of {each.name}") for each in running] if incomplete else []
    return [(word, note) for word, note in (*named, *by_id) if word.startswith(incomplete)]


def checkpoints(ctx: Any, incomplete: str) -> list[str]:
    """Return the stored checkpoints of the JOB already on the command line, newest first."""
    job = ctx.params.get("job")
    if not isinstance(job, str):
        return []
    try:
        ids = sorted(_stored(job), reverse=True)
    except Exception:  # as above
        return []
    return [str(each) for each in ids if str(each).startswith(incomplete)][:MAX_RESULTS]


def claim_modes(incomplete: str) -> list[str]:
    """Return the values of --claim-mode."""
    return [mode for mode in ("no-claim", "claim") if mode.startswith(incomplete)]


def _stored(job: str) -> list[CheckpointId]:
    from milepost.checkpoint.store.checkpoints import CheckpointFiles
    from milepost.cli.argument.checkpoint_place import resolve

    return CheckpointFiles(resolve(job).store).ids()
