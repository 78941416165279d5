# What became of each test of pytest, one JSON object a line in the open file
# report. The driver or the plugin follows, and opens it.
import json
import os

dumps, write = json.dumps, os.write


def say(name, group, outcome, text=""):
    write(report, (dumps({"name": name, "group": group, "outcome": outcome, "text": text[-16000:]}) + "\n").encode())


class Outcomes:
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
