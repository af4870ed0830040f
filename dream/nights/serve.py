"""`dream serve`: stay, and have a night whenever one is due. The only module that knows APScheduler.

When a night is due is decided by one pure rule: the schedule had a time after the last night. The scheduler only asks
often: at each time of the schedule, and every minute besides. So a night that was slept through is made up for after
waking and after a restart, a time that the clock passes twice in autumn makes one night, and one that another process
has had already makes none.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from types import FrameType
from zoneinfo import ZoneInfo

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from dream.crontime import Cron, parse
from dream.directory import Workspace
from dream.errors import Busy, DreamError
from dream.nights import nightly
from dream.nights.nightly import NightReport
from dream.settings import Settings
from dream.workspace import stamp

HEARTBEAT = 60.0  # seconds between two looks at the clock; also how late a night can be after the machine wakes
NIGHT = "night"  # the name of the scheduler's job


class Server:
    """Runs the nights of one workspace until it is stopped.

    `read` reads the settings, at the start and again on SIGHUP. `tell` gets a line for each thing that happens, and
    `told` the report of each night. `environ` is the environment, as a value.
    """

    def __init__(
        self,
        workspace: Workspace,
        read: Callable[[], Settings],
        *,
        environ: Mapping[str, str],
        tell: Callable[[str], None],
        told: Callable[[NightReport], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        heartbeat: float = HEARTBEAT,
    ) -> None:
        self._workspace, self._read, self._environ = workspace, read, environ
        self._tell, self._told, self._clock, self._heartbeat = tell, told, clock, heartbeat
        self._stop, self._wake, self._reload = threading.Event(), threading.Event(), threading.Event()
        self._failed: datetime | None = None
        self._busy: str | None = None
        self._use(read())

    def serve(self) -> None:
        """Stay until SIGTERM or Ctrl-C; a dream under way is finished first. Has to run in the main thread."""
        # Another heartbeat that comes during a long night is dropped; that is meant, and no warning.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self.begin()
        scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            timezone=UTC,
        )
        scheduler.add_job(self.beat, _Times(self._cron, self._zone), id=NIGHT)
        scheduler.add_job(self.beat, "interval", seconds=self._heartbeat, next_run_time=datetime.now(UTC))
        self._catch_signals()
        scheduler.start()
        self._announce()
        try:
            self._stay(scheduler)
        finally:
            scheduler.shutdown(wait=True)
            stamp.not_serving(self._workspace.private)
            self._tell("Stopped.")

    def begin(self) -> None:
        """Note when the schedule is first served: nights before that are not made up for."""
        if stamp.last_night(self._workspace.private) is None:
            stamp.stamp(self._workspace.private, self._clock())

    def stop(self) -> None:
        """Ask it to stop, as SIGTERM does: a model call or dream under way is finished first."""
        self._stop.set()
        self._wake.set()

    def beat(self) -> None:
        """Run a night if one is due; errors are reported, and the night is retried."""
        now = self._clock()
        if self._stop.is_set() or not self._due(now):
            return
        try:
            report = nightly.night(
                self._workspace, settings=self._settings, now=now, environ=self._environ, stop=self._stop.is_set
            )
        except Busy as error:
            if self._busy != str(error):
                self._tell(str(error))
            self._busy = str(error)
            return
        except DreamError as error:
            self._had(now)
            self._tell(f"The night failed and will be retried: {error}")
            return
        except Exception:  # a bug: it is raised once a night, not at every heartbeat
            self._had(now)
            raise
        self._busy = None
        self._told(report)
        self._announce()

    def _stay(self, scheduler: BackgroundScheduler) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._heartbeat)
            self._wake.clear()
            if self._reload.is_set():
                self._reload.clear()
                if self._again():
                    scheduler.reschedule_job(NIGHT, trigger=_Times(self._cron, self._zone))

    def _had(self, now: datetime) -> None:
        """Note a failed night, so that it is not retried at every heartbeat; in memory only where the disk is full."""
        self._failed = now
        with suppress(DreamError):
            stamp.stamp(self._workspace.private, now)

    def _due(self, now: datetime) -> bool:
        last = stamp.last_night(self._workspace.private)
        if self._failed is not None and (last is None or last < self._failed):
            last = self._failed
        if last is not None and last > now:
            stamp.stamp(self._workspace.private, now)  # the clock was or is wrong: count from now
        return last is None or self._cron.before(now, self._zone) > last

    def _use(self, settings: Settings) -> None:
        self._cron = parse(settings.schedule)
        self._zone: tzinfo | None = ZoneInfo(settings.timezone) if settings.timezone else None
        self._settings = settings

    def _again(self) -> bool:
        """Read the settings again; where they are wrong, keep the old ones."""
        try:
            self._use(self._read())
        except DreamError as error:
            self._tell(f"The settings stay as they were: {error}")
            return False
        self._tell("The settings were reloaded.")
        self._announce()
        return True

    def _announce(self) -> None:
        """Report when the next night is, and note it for `dream status`."""
        at = self._cron.after(self._clock(), self._zone)
        with suppress(DreamError):  # where the disk refuses it, `status` knows less; each night says why it failed
            stamp.serving(self._workspace.private, os.getpid(), at)
        self._tell(f"Next night: {at.astimezone(self._zone):%A %Y-%m-%d %H:%M %Z}.")

    def _catch_signals(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:
            self.stop()

        def reload(number: int, frame: FrameType | None) -> None:
            self._reload.set()
            self._wake.set()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGHUP, reload)


class _Times(BaseTrigger):  # type: ignore[misc]  # APScheduler ships no types
    """The times of a cron expression; APScheduler's own reads weekdays and clock changes differently from crontab."""

    def __init__(self, cron: Cron, zone: tzinfo | None) -> None:
        self._cron = cron
        self._zone = zone

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return self._cron.after(previous_fire_time or now, self._zone)
