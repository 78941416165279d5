

# Runs pytest and writes what became of each test to the file named first.
import sys

import pytest

# What the tree holds must not stand in for what is imported above.
report = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
args = sys.argv[2:]
sys.path[0] = os.getcwd()
sys.argv = ["pytest"] + args

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"] + args + ["--maxfail=0", "--continue-on-collection-errors"], plugins=[Outcomes()]))
