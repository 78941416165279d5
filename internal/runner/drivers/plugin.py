# A plugin of pytest that writes what became of each test beside itself.
import json
import os

report = os.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "report"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
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


def pytest_configure(config):
    # A worker of a pool reports to the process that this is about.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes())
