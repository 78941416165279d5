# Runs unittest and writes what became of each test to the file named first.
report = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
args = sys.argv[2:]
sys.path[0] = os.getcwd()


class Result(Outcomes, unittest.TestResult):
    pass


class Runner:
    def __init__(self, *args, **kwargs):
        pass

    def run(self, suite):
        result = Result()
        suite.run(result)
        return result


unittest.main(module=None, argv=["python -m unittest"] + args, testRunner=Runner)
