# Runs every test of the project; stops at the first that fails.
set -eu
for test in tests/*_test.sh; do
	sh "$test" || { echo "FAILED: $test"; exit 1; }
done
echo "all tests pass"
