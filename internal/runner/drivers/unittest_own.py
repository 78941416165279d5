# Runs unittest as python -m unittest does; its results say what became of each
# test beside this file as well.
import runpy

report = os.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "report"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
sys.path[0] = os.getcwd()


class Result(Outcomes, unittest.TextTestResult):
    pass


unittest.TextTestRunner.resultclass = Result
runpy.run_module("unittest", run_name="__main__", alter_sys=True)
