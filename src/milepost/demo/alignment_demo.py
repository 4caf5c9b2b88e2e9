"""`milepost demo alignment`: one checkpoint cuts two sources, and a crash shows the effect of each mode."""

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
from milepost.demo.environment import DemoEnvironment, DemoOptions, demo_environment
from milepost.demo.pipeline_variant import (
    FAMILY,
    TIMEOUT_S,
    VIEWS,
    PipelineVariant,
    VariantRun,
    document,
    topics_of,
)
from milepost.errors import JobFailedError, VerificationError
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.sink.versioning import version_word
from milepost.verify.compare import RawCell

CUT = (100, 105)
"""The offsets of the two sources in the example of the documentation when the checkpoint is taken."""
REPLAYED = (30, 20)
"""The records after it, which are written but not committed when the driver is killed."""
LATER = (10, 15)
"""The records that arrive while the job is down; they are not part of the repeated checkpoint."""

_TRIES = 3
_COUNTS = (
    "SELECT source, CAST(count(*) AS STRING) AS n FROM "
    "(SELECT 'one' AS source FROM one UNION ALL SELECT 'two' AS source FROM two) GROUP BY source"
)
_RECORDS = "SELECT value FROM one UNION ALL SELECT value FROM two"


COUNTS = PipelineVariant(
    "counts",
    "exactly-once",
    _COUNTS,
    {"row-key": ["source"], "columns": {FAMILY: ["n"]}, "version": "checkpoint", "encoding": "string"},
)
RECORDS = {
    mode: PipelineVariant(
        mode, mode, _RECORDS, {"row-key": ["_kafka.topic", "value"], "columns": {FAMILY: ["value"]}}
    )
    for mode in ("exactly-once", "at-least-once")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """The table and the checkpoints of one pipeline at each step."""

    aligned: CompletedCheckpoint
    """The checkpoint that was taken on demand."""
    before: list[RawCell]
    crashed: list[RawCell]
    after: list[RawCell]
    manifests: Mapping[int, CompletedCheckpoint]
    """Every checkpoint from that one on, as stored at the end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of the demo."""

    cuts: list[Cut]
    writes: list[Writes]


def run(demo: DemoOptions) -> Outcome:
    """Run the steps with each pipeline, print the results as two tables, and return them.

    Raises VerificationError, after printing the tables, if a result is not as expected.
    """
    with demo_environment(demo, "alignment") as environment:
        config = Config(**document(environment, COUNTS))
        log = environment.folder / "driver.log"
        demo.say("2. Starting Spark")
        conf = spark_conf(config.spark.master, session_settings(config), log)
        with session("alignment", conf, log) as spark:
            demo.say("3. Counts per source, exactly-once")
            observed = _run_with_crash(demo, VariantRun(environment, spark, COUNTS))
            cuts = _cuts(topics_of(environment, COUNTS), observed)
            faults = [*_offset_faults(cuts), *cut_faults(cuts)]
            writes = []
            for step, variant in enumerate(RECORDS.values(), start=4):
                demo.say(f"{step}. A row per record, {variant.mode}")
                observed = _run_with_crash(demo, VariantRun(environment, spark, variant))
                faults += _crash_faults(observed)
                writes.append(_writes(environment, variant, observed))
                faults += write_faults(
                    writes[-1], records=sum(CUT + REPLAYED + LATER), replayed=sum(REPLAYED)
                )
        demo.say("Counts in the table, exactly-once, against the offsets in the manifest of each checkpoint:")
        _print_lines(demo, cut_lines(cuts))
        demo.say(
            f"Records in the table after {sum(REPLAYED)} of them were replayed, by the versions of their cells:"
        )
        _print_lines(demo, write_lines(writes))
        if faults:
            raise VerificationError("The table is not what the checkpoints say", why="; ".join(faults))
    return Outcome(cuts, writes)


def _run_with_crash(demo: DemoOptions, variant_run: VariantRun) -> Observations:
    """Take a checkpoint at (100, 105), continue, kill the job, restart it; read the table each time."""
    with variant_run.running() as job:
        # A job starts with a checkpoint of the backlog, which is empty here.
        job.checkpoint(timeout=TIMEOUT_S)
        variant_run.send(CUT)
        number = _checkpoint_of(job, sum(CUT)).checkpoint_id
        aligned = variant_run.manifests()[number]
        before = variant_run.cells()
    demo.say(f"   checkpoint {aligned.checkpoint_id} taken on demand, sources at {CUT}")
    variant_run.send(REPLAYED)
    lost = variant_run.crash()
    demo.say(
        f"   {REPLAYED} more records; killed with SIGKILL in step 6 of checkpoint {lost}, after its rows were written"
    )
    crashed = variant_run.cells()
    variant_run.send(LATER)
    with variant_run.running() as job:
        newest = _checkpoint_of(job, sum(CUT + REPLAYED + LATER))
    demo.say(
        f"   {LATER} more; restarted: checkpoint {lost} is repeated with its old boundary, "
        f"then {newest.checkpoint_id}"
    )
    manifests = {
        number: each for number, each in variant_run.manifests().items() if number >= aligned.checkpoint_id
    }
    return Observations(
        aligned=aligned, before=before, crashed=crashed, after=variant_run.cells(), manifests=manifests
    )


def _checkpoint_of(job: RunningPipeline, records: int) -> CompletedCheckpoint:
    """Take checkpoints until one has that many records; a running or repeated one may complete first."""
    for _ in range(_TRIES):
        checkpoint = job.checkpoint(timeout=TIMEOUT_S)
        if sum(records_below(checkpoint.sources, ()).values()) == records:
            return checkpoint
    raise JobFailedError(
        f"Not all {records} records are in a checkpoint", why=f"the newest has {checkpoint.sources}"
    )


def _cuts(topics: Mapping[str, str], observed: Observations) -> list[Cut]:
    """Return each checkpoint with the counts of the table at that checkpoint; the first one three times."""

    def cut(checkpoint: CompletedCheckpoint, cells: list[RawCell], when: str) -> Cut:
        below = records_below(checkpoint.sources, topics)
        return Cut(
            checkpoint_id=checkpoint.checkpoint_id,
            when=when,
            offsets={view: below[topic] for topic, view in topics.items()},
            counts=counts_at(cells, checkpoint.checkpoint_id, VIEWS),
        )

    return [
        cut(observed.aligned, observed.before, "before the crash"),
        cut(observed.aligned, observed.crashed, "after the crash"),
        *(cut(each, observed.after, "after the restart") for each in observed.manifests.values()),
    ]


def _offset_faults(cuts: list[Cut]) -> list[str]:
    """Return a fault unless the checkpoints are at the expected offsets: the example's, the crash's, the last."""
    replayed = tuple(map(sum, zip(CUT, REPLAYED, strict=True)))
    expected = [CUT, replayed, tuple(map(sum, zip(replayed, LATER, strict=True)))]
    # Without new records a checkpoint has the offsets of the previous one.
    found = list(dict.fromkeys(tuple(cut.offsets.values()) for cut in cuts))
    return [] if found == expected else [f"the checkpoints are at {found} instead of {expected}"]


def _crash_faults(observed: Observations) -> list[str]:
    """Return a fault unless all rows were written before the crash; otherwise none is written again."""
    written = len({row for row, *_ in observed.crashed})
    expected = sum(CUT + REPLAYED)
    return [] if written == expected else [f"{written} of {expected} records were in the table at the crash"]


def _writes(environment: DemoEnvironment, variant: PipelineVariant, observed: Observations) -> Writes:
    version = version_word(Config(**document(environment, variant)).sink.hbase)
    return writes_of(observed.after, mode=variant.mode, version=version)


def _print_lines(demo: DemoOptions, lines: list[str]) -> None:
    for line in lines:
        demo.say(f"   {line}")
