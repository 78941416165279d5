# Runs unittest and writes what became of each test to the file named first.
import json
import os
import sys
import traceback
import unittest

report = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
args = sys.argv[2:]
sys.path[0] = os.getcwd()
dumps, write = json.dumps, os.write


def say(name, group, outcome, text=""):
    write(report, (dumps({"name": name, "group": group, "outcome": outcome, "text": text[-16000:]}) + "\n").encode())


def group(test):
    return type(test).__module__


class Result(unittest.TestResult):
    def __init__(self, *args, **kwargs):
        super().__init__()
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
        self.red(test, err)

    def addFailure(self, test, err):
        self.red(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None and test.id() not in self.bad:
            self.red(test, err)

    def addSkip(self, test, reason):
        self.bad.add(test.id())
        say(test.id(), group(test), "skipped")

    def addExpectedFailure(self, test, err):
        self.bad.add(test.id())
        say(test.id(), group(test), "skipped")

    def addUnexpectedSuccess(self, test):
        self.bad.add(test.id())
        say(test.id(), group(test), "failed", "unexpected success")

    def addSuccess(self, test):
        pass

    def stopTest(self, test):
        if test.id() not in self.bad:
            say(test.id(), group(test), "passed")


class Runner:
    def __init__(self, *args, **kwargs):
        pass

    def run(self, suite):
        result = Result()
        suite.run(result)
        return result


unittest.main(module=None, argv=["python -m unittest"] + args, testRunner=Runner)
