"""`milepost demo alignment`: two sources, cut together; what a crash does to the table in each mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from milepost.api import RunningPipeline
from milepost.checkpoint.model import CompletedCheckpoint
from milepost.config import Config
from milepost.demo.alignment import (
    Cut,
    Writes,
    counts_at,
    cut_faults,
    cut_lines,
    records_below,
    write_faults,
    write_lines,
    writes_of,
)
from milepost.demo.environment import Stage, Story, staged
from milepost.demo.trial import FAMILY, TIMEOUT_S, VIEWS, Play, Trial, document, topics_of
from milepost.errors import JobFailedError, VerificationError
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.sink.versioning import version_word
from milepost.verify.compare import RawCell

CUT = (100, 105)
"""Where the two sources stand in the documents' example when the checkpoint is taken."""
REPLAYED = (30, 20)
"""What comes after it, and is written but not committed when the driver is killed."""
LATER = (10, 15)
"""What comes while the job is down: no part of the checkpoint that is done again."""

_TRIES = 3
_COUNTS = (
    "SELECT source, CAST(count(*) AS STRING) AS n FROM "
    "(SELECT 'one' AS source FROM one UNION ALL SELECT 'two' AS source FROM two) GROUP BY source"
)
_RECORDS = "SELECT value FROM one UNION ALL SELECT value FROM two"


COUNTS = Trial(
    "counts",
    "exactly-once",
    _COUNTS,
    {"row-key": ["source"], "columns": {FAMILY: ["n"]}, "version": "checkpoint", "encoding": "string"},
)
RECORDS = {
    mode: Trial(mode, mode, _RECORDS, {"row-key": ["_kafka.topic", "value"], "columns": {FAMILY: ["value"]}})
    for mode in ("exactly-once", "at-least-once")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What the table and the checkpoints of one trial were at each point of the story."""

    aligned: CompletedCheckpoint
    """The checkpoint that was taken on demand."""
    before: list[RawCell]
    crashed: list[RawCell]
    after: list[RawCell]
    manifests: Mapping[int, CompletedCheckpoint]
    """Every checkpoint from that one on, as stored in the end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo has shown."""

    cuts: list[Cut]
    writes: list[Writes]


def run(story: Story) -> Outcome:
    """Tell the story in each trial, print what was seen as two tables, and return it.

    Raises VerificationError, after the tables were told, where something is not as promised.
    """
    with staged(story, "alignment") as stage:
        config = Config(**document(stage, COUNTS))
        log = stage.folder / "driver.log"
        story.say("2. Starting Spark")
        conf = spark_conf(config.spark.master, session_settings(config), log)
        with session("alignment", conf, log) as spark:
            story.say("3. Counts per source, exactly-once")
            seen = _endure(story, Play(stage, spark, COUNTS))
            cuts = _cuts(topics_of(stage, COUNTS), seen)
            faults = [*_offset_faults(cuts), *cut_faults(cuts)]
            writes = []
            for step, trial in enumerate(RECORDS.values(), start=4):
                story.say(f"{step}. A row per record, {trial.mode}")
                looks = _endure(story, Play(stage, spark, trial))
                faults += _crash_faults(looks)
                writes.append(_writes(stage, trial, looks))
                faults += write_faults(
                    writes[-1], records=sum(CUT + REPLAYED + LATER), replayed=sum(REPLAYED)
                )
        story.say(
            "Counts in the table, exactly-once, against the offsets in the manifest of each checkpoint:"
        )
        _tell(story, cut_lines(cuts))
        story.say(
            f"Records in the table after {sum(REPLAYED)} of them were replayed, by versions of their cells:"
        )
        _tell(story, write_lines(writes))
        if faults:
            raise VerificationError("The table is not what the checkpoints say", why="; ".join(faults))
    return Outcome(cuts, writes)


def _endure(story: Story, play: Play) -> Looks:
    """Cut at (100, 105), go on, be killed, start again; look at the table each time."""
    with play.running() as job:
        # A job begins with a checkpoint of what is waiting; here nothing is.
        job.checkpoint(timeout=TIMEOUT_S)
        play.send(CUT)
        number = _checkpoint_of(job, sum(CUT)).checkpoint_id
        aligned = play.manifests()[number]
        before = play.cells()
    story.say(f"   checkpoint {aligned.checkpoint_id} taken on demand, sources at {CUT}")
    play.send(REPLAYED)
    lost = play.crash()
    story.say(
        f"   {REPLAYED} more records; killed with SIGKILL in step 6 of checkpoint {lost}, its rows are written"
    )
    crashed = play.cells()
    play.send(LATER)
    with play.running() as job:
        newest = _checkpoint_of(job, sum(CUT + REPLAYED + LATER))
    story.say(
        f"   {LATER} more; started again: checkpoint {lost} is done again with its old boundary, "
        f"then {newest.checkpoint_id}"
    )
    manifests = {number: each for number, each in play.manifests().items() if number >= aligned.checkpoint_id}
    return Looks(aligned=aligned, before=before, crashed=crashed, after=play.cells(), manifests=manifests)


def _checkpoint_of(job: RunningPipeline, records: int) -> CompletedCheckpoint:
    """Take checkpoints until one has that many records: one that was under way, or is done again, may come first."""
    for _ in range(_TRIES):
        checkpoint = job.checkpoint(timeout=TIMEOUT_S)
        if sum(records_below(checkpoint.sources, ()).values()) == records:
            return checkpoint
    raise JobFailedError(
        f"Not all {records} records are in a checkpoint", why=f"the newest has {checkpoint.sources}"
    )


def _cuts(topics: Mapping[str, str], looks: Looks) -> list[Cut]:
    """Return each checkpoint beside what the table has counted as of it; the first one three times."""

    def cut(checkpoint: CompletedCheckpoint, cells: list[RawCell], when: str) -> Cut:
        below = records_below(checkpoint.sources, topics)
        return Cut(
            checkpoint_id=checkpoint.checkpoint_id,
            when=when,
            offsets={view: below[topic] for topic, view in topics.items()},
            counts=counts_at(cells, checkpoint.checkpoint_id, VIEWS),
        )

    return [
        cut(looks.aligned, looks.before, "before the crash"),
        cut(looks.aligned, looks.crashed, "after the crash"),
        *(cut(each, looks.after, "after the restart") for each in looks.manifests.values()),
    ]


def _offset_faults(cuts: list[Cut]) -> list[str]:
    """The checkpoints stand where the story has put them: the example's, the one of the crash, the last one."""
    replayed = tuple(map(sum, zip(CUT, REPLAYED, strict=True)))
    expected = [CUT, replayed, tuple(map(sum, zip(replayed, LATER, strict=True)))]
    # Without new records a checkpoint stands where the one before it does.
    found = list(dict.fromkeys(tuple(cut.offsets.values()) for cut in cuts))
    return [] if found == expected else [f"the checkpoints stand at {found} instead of {expected}"]


def _crash_faults(looks: Looks) -> list[str]:
    """Without rows that were written before the crash there would be nothing to write again."""
    written = len({row for row, *_ in looks.crashed})
    expected = sum(CUT + REPLAYED)
    return [] if written == expected else [f"{written} of {expected} records were in the table at the crash"]


def _writes(stage: Stage, trial: Trial, looks: Looks) -> Writes:
    version = version_word(Config(**document(stage, trial)).sink.hbase)
    return writes_of(looks.after, mode=trial.mode, version=version)


def _tell(story: Story, lines: list[str]) -> None:
    for line in lines:
        story.say(f"   {line}")
