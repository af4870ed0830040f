"""`dream` for an agent's author: one workspace with its settings, and what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.actions import note
from dream.actions import restore as restores
from dream.actions.restore import Mode, Restored
from dream.consolidate.consolidator import Consolidator
from dream.directory import Workspace
from dream.llm.spending import open_meter, open_model, prepare
from dream.models import Entry, Report
from dream.reports import ConsolidateReport, RunReport
from dream.settings import CALLING, Settings
from dream.workspace.bills import Bills


class Dream:
    """One workspace and the settings that it works under; those of the workspace unless others are given.

    `now` is the moment that a call takes itself to be made at: aware, and the clock's where it is left out.
    Nothing is printed, and no logging is configured. What can be acted on is raised as a DreamError.
    """

    def __init__(self, workspace: Workspace, settings: Settings | None = None) -> None:
        self.workspace = workspace
        self.settings = settings or workspace.settings(using=CALLING)

    def consolidator(self, *, report: Report | None = None) -> Consolidator:
        """Make the Consolidator for live sessions in this workspace; one is enough for all of them.

        Its calls are bounded by the settings together with what the day has cost so far. For a model other than
        `embedded` LiteLLM is imported before this returns, some seconds: it is called from another thread later.
        """
        prepare(self.settings, "consolidator")
        meter = open_meter(Bills(self.workspace.private), self.settings, _now())
        model = open_model(self.settings, "consolidator", meter)
        folder = self.workspace.prompts
        history, places = self.workspace.history, self.workspace.places()
        return Consolidator(history, model, self.settings, prompts_folder=folder, report=report, places=places)

    def consolidate(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        format: str | None = None,  # noqa: A002, the word that every door uses for it
        now: datetime | None = None,
    ) -> ConsolidateReport:
        """Read the transcripts at `paths`, or at one path, and append to history what it does not hold yet."""
        named = [Path(path) for path in ([paths] if isinstance(paths, Path | str) else paths)]
        return pipeline.consolidate(self.workspace, named, settings=self.settings, format=format, now=now or _now())

    def note(self, text: str, *, by_agent: bool = False, now: datetime | None = None) -> Entry:
        """Put a fact into history; the next dream puts it into memory.

        The user vouches for it, unless it is said `by_agent`: then it makes no rule and no fact about the user unseen.
        """
        return note.note(self.workspace, text, settings=self.settings, now=now or _now(), by_agent=by_agent)

    def run(self, *, max_batches: int | None = None, dry_run: bool = False, now: datetime | None = None) -> RunReport:
        """Dream until nothing is left, or `max_batches` times; raises Busy when another run holds the workspace."""
        return pipeline.run(
            self.workspace,
            settings=self.settings,
            max_batches=max_batches,
            dry_run=dry_run,
            now=now or _now,
        )

    def restore(
        self,
        sha: str,
        *,
        mode: Mode = "before",
        forget: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Restored:
        """Take the change `sha` back: memory as it was `before` it, without it (`only`), or as it was `at` it."""
        return restores.restore(self.workspace, sha, mode=mode, forget=forget, dry_run=dry_run, now=now or _now())


def _now() -> datetime:
    return datetime.now(UTC)
