#!/usr/bin/env bash
# Takes a picture of every page, at 1280 and 390 pixels, light and dark, with the
# real program, a real browser and made-up issues: into bin/pictures, or the folder
# that is the argument.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
apt chromium chromium
FORGE_REAL_CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	die "chromium is missing: install the package chromium"
export FORGE_REAL_CHROMIUM
FORGE_SHOTS=${1:-$PWD/bin/pictures}
case $FORGE_SHOTS in /*) ;; *) FORGE_SHOTS=$PWD/$FORGE_SHOTS ;; esac
export FORGE_SHOTS
rm -f "$FORGE_SHOTS"/*.png
# One after the other: a tab that is taken a picture of comes before the others, which
# then have no focus.
${GO:-go} test -p 1 -parallel 1 -tags real -count=1 -timeout 30m -run '^TestReal.*InABrowser$' ./factory/web ./internal/cli ./internal/e2e
say "pictures of $(find "$FORGE_SHOTS" -name '*-light.png' | wc -l) pages are in $FORGE_SHOTS"
