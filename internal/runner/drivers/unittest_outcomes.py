# What became of each test of unittest, one JSON object a line in the open file
# report. The driver or the own call follows, and opens it.
import json
import os
import sys
import traceback
import unittest

dumps, write = json.dumps, os.write


def say(name, group, outcome, text=""):
    write(report, (dumps({"name": name, "group": group, "outcome": outcome, "text": text[-16000:]}) + "\n").encode())


def group(test):
    return type(test).__module__


class Outcomes:
    """Goes before a result of unittest, which does what it does beside."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.bad = set()

    def text(self, err):
        return "".join(traceback.format_exception(*err))

    def red(self, test, err):
        # A module that cannot be imported stands in as a test of the loader.
        if type(test).__name__ in ("_FailedTest", "_ErrorHolder"):
            say("", test.id().split(".")[-1], "broken", self.text(err))
            return
        self.bad.add(test.id())
        say(test.id(), group(test), "failed", self.text(err))

    def addError(self, test, err):
        super().addError(test, err)
        self.red(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.red(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None and test.id() not in self.bad:
            self.red(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.bad.add(test.id())
        say(test.id(), group(test), "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.bad.add(test.id())
        say(test.id(), group(test), "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.bad.add(test.id())
        say(test.id(), group(test), "failed", "unexpected success")

    def stopTest(self, test):
        super().stopTest(test)
        if test.id() not in self.bad:
            say(test.id(), group(test), "passed")


