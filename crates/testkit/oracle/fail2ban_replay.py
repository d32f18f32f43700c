"""Replays log files through fail2ban's own Filter, FailManager, BanManager and Observer.

Usage: /usr/bin/python3 fail2ban_replay.py < JOBS

Each line of the input is a JSON object with the options of a jail and the files to read:
{"filter": NAME or null, "options": {filter options}, "failregex": [...], "ignoreregex": [...],
 "datepattern": TEXT or null, "maxretry": N, "findtime": S, "bantime": S, "maxmatches": N,
 "ignoreip": [...], "usedns": TEXT, "increment": {name: value} or null, "files": [PATH, ...],
 "is_timed": FLAG}
For each a JSON object is printed:
{"failures": [[line, name], ...], "bans": [[name, time, until, line, already_banned], ...],
 "seconds": S, "errors": [TEXT, ...], "error": TEXT or null}
Lines are counted from 1 over all files. The present is the time of the last line with a date.
If the job is timed, that is the date which the filter itself finds, and failures are not listed, so
that fail2ban does no more than it does by itself.
"""

import json
import os
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from fail2ban.client.filterreader import FilterReader
from fail2ban.server.banmanager import BanManager
from fail2ban.server.filter import Filter
from fail2ban.server.mytime import MyTime
from fail2ban.server.observer import ObserverThread
from fail2ban.server.ticket import BanTicket
from fail2ban.server import observer as observers
from fail2ban.server.database import Fail2BanDb
from fail2ban.server.jail import Jail


class Recorder:
    """Stands for the jail and its actions: takes tickets as the ban manager would."""

    name = "replay"

    def __init__(self, bantime, increment):
        self.banned = BanManager()
        self.banned.setBanTime(bantime)
        self.bantime = bantime
        self.bans = []
        self.queue = []
        self.line = 0
        self.errors = []
        self.database = None
        self.actions = self
        self._banExtra = {}
        self.filter = None
        if increment is not None:
            self.database = Fail2BanDb(":memory:")
            self.database.addJail(self)
            for name, value in increment.items():
                Jail.setBanTimeExtra(self, name, value)

    def isAlive(self):
        return True

    def getBanTime(self):
        return self.bantime

    def getBanTimeExtra(self, name=None):
        return Jail.getBanTimeExtra(self, name)

    def putFailTicket(self, ticket):
        self.queue.append(ticket)

    def _prolongBan(self, ticket):
        pass

    def ban_all(self):
        for ticket in self.queue:
            ticket = BanTicket.wrap(ticket)
            now = MyTime.time()
            self.banned.unBanList(now)
            bantime = ticket.getBanTime(self.bantime)
            reason = {}
            is_new = self.banned.addBanTicket(ticket, reason=reason)
            if is_new:
                if observers.Observers.Main is not None:
                    observers.Observers.Main.banFound(ticket, self, bantime)
            bantime = ticket.getBanTime(self.bantime)
            until = None if bantime == -1 else ticket.getTime() + bantime
            self.bans.append([str(ticket.getID()), ticket.getTime(), until, self.line,
                              "ticket" in reason])
        self.queue = []


class DirectObserver(ObserverThread):
    """Does at once what the thread would do later."""

    def __init__(self):
        pass

    def add(self, event, *arguments):
        getattr(self, event)(*arguments)

    def add_timer(self, *arguments):
        pass


def set_up(job, jail):
    flt = Filter(jail, useDns=job.get("usedns") or "warn")
    jail.filter = flt
    flt.active = True

    # The filter would go on with the next line, after a while.
    def fail(reason="", exc=None):
        jail.errors.append(f"{jail.line}: {sys.exc_info()[1]!r}")

    flt.commonError = fail
    flt.ignoreSelf = False
    name = job.get("filter")
    if name:
        reader = FilterReader(name, "replay", dict(job.get("options") or {}),
                              basedir="/etc/fail2ban")
        reader.read()
        reader.applyAutoOptions("")
        reader.getOptions({})
        for command in reader.convert():
            values = command[3] if command[0] == "multi-set" else [command[3]]
            for value in values:
                if command[2] == "prefregex":
                    flt.prefRegex = value
                elif command[2] == "addfailregex":
                    flt.addFailRegex(value)
                elif command[2] == "addignoreregex":
                    flt.addIgnoreRegex(value)
                elif command[2] == "maxlines":
                    flt.setMaxLines(value)
                elif command[2] == "datepattern":
                    flt.setDatePattern(value)
    for value in job.get("failregex") or []:
        flt.addFailRegex(value)
    for value in job.get("ignoreregex") or []:
        flt.addIgnoreRegex(value)
    if job.get("datepattern"):
        flt.setDatePattern(job["datepattern"])
    flt.setMaxRetry(job["maxretry"])
    flt.setFindTime(job["findtime"])
    flt.failManager.maxMatches = job["maxmatches"]
    for address in job.get("ignoreip") or []:
        flt.addIgnoreIP(address)
    return flt


def replay(job):
    # Host names are not looked up.
    from fail2ban.server.ipdns import DNSUtils
    DNSUtils.dnsToIp = staticmethod(lambda dns: set())
    increment = job.get("increment")
    jail = Recorder(job["bantime"], increment)
    flt = set_up(job, jail)
    observers.Observers.Main = DirectObserver() if increment is not None else None
    if job.get("is_timed"):
        return timed(job, jail, flt)
    failures = []
    manager = flt.failManager
    add = manager.addFailure

    def add_failure(ticket, count=1, observed=False):
        if not observed:
            failures.append([jail.line, str(ticket.getID())])
        return add(ticket, count, observed)

    manager.addFailure = add_failure
    # A detector of its own finds the time, so that the one of the filter sees each line once.
    clock = flt.dateDetector.__class__()
    for template in flt.dateDetector.templates:
        clock._appendTemplate(template.template)
    begin = time.perf_counter()
    for path in job["files"]:
        with open(path, "rb") as file:
            for raw in file:
                line = raw.decode("UTF-8", "replace").rstrip("\r\n")
                jail.line += 1
                found = clock.matchTime(line)
                if found[0] is not None:
                    date = clock.getTime(found[0].group(1), found)
                    if date is not None:
                        MyTime.setTime(date[0])
                jail.banned.unBanList(MyTime.time())
                flt.processLineAndAdd(line)
                jail.ban_all()
    seconds = time.perf_counter() - begin
    MyTime.setTime(None)
    return {"failures": failures, "bans": jail.bans, "seconds": seconds,
            "errors": jail.errors, "error": None}


def timed(job, jail, flt):
    get_time = flt.dateDetector.getTime

    def get_and_set_time(text, match=None):
        found = get_time(text, match)
        if found is not None:
            MyTime.setTime(found[0])
        return found

    flt.dateDetector.getTime = get_and_set_time
    begin = time.perf_counter()
    for path in job["files"]:
        with open(path, "rb") as file:
            for raw in file:
                jail.line += 1
                flt.processLineAndAdd(raw.decode("UTF-8", "replace").rstrip("\r\n"))
                if jail.queue:
                    jail.banned.unBanList(MyTime.time())
                    jail.ban_all()
    seconds = time.perf_counter() - begin
    MyTime.setTime(None)
    return {"failures": [], "bans": jail.bans, "seconds": seconds,
            "errors": jail.errors, "error": None}


def main():
    import logging
    logging.disable(logging.CRITICAL)
    for text in sys.stdin:
        try:
            result = replay(json.loads(text))
        except Exception as error:  # The job's error is its result.
            result = {"failures": [], "bans": [], "seconds": 0, "error": repr(error)}
        print(json.dumps(result), flush=True)


main()
