# Runs pytest and writes what became of each test to the file named first.
import json
import os
import sys

import pytest

# What the tree holds must not stand in for what is imported above.
report = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
args = sys.argv[2:]
sys.path[0] = os.getcwd()
sys.argv = ["pytest"] + args
dumps, write = json.dumps, os.write


def say(name, group, outcome, text=""):
    write(report, (dumps({"name": name, "group": group, "outcome": outcome, "text": text[-16000:]}) + "\n").encode())


class Plugin:
    def __init__(self):
        self.seen = {}

    def pytest_runtest_logreport(self, report):
        # One test has up to three parts; the worst one counts.
        was = self.seen.get(report.nodeid)
        if was == "failed":
            return
        group = report.nodeid.split("::")[0]
        if report.failed:
            self.seen[report.nodeid] = "failed"
            say(report.nodeid, group, "failed", str(report.longreprtext))
        elif report.skipped:
            self.seen[report.nodeid] = "skipped"
            say(report.nodeid, group, "skipped")
        elif report.when == "call":
            # A test that was expected to fail and passes is no pass either.
            self.seen[report.nodeid] = "skipped" if hasattr(report, "wasxfail") else "called"
            if hasattr(report, "wasxfail"):
                say(report.nodeid, group, "skipped")
        elif report.when == "teardown" and was == "called":
            say(report.nodeid, group, "passed")

    def pytest_collectreport(self, report):
        if report.failed:
            say("", report.nodeid.split("::")[0], "broken", str(report.longreprtext))


sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"] + args + ["--maxfail=0", "--continue-on-collection-errors"], plugins=[Plugin()]))
