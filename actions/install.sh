#!/bin/sh
# Installs forge for the steps that follow in this job, from the releases at
# FORGE_URL, and bubblewrap where FORGE_SANDBOX is true and it is missing.
set -eu

bin=$RUNNER_TEMP/forge-bin
mkdir -p "$bin"
curl -fsSL --retry 2 -o "$RUNNER_TEMP/forge-install.sh" "$FORGE_URL/install.sh" || {
	echo "forge: there is no install.sh at $FORGE_URL; the input url names the folder with Forge's releases" >&2
	exit 2
}
FORGE_BIN=$bin sh "$RUNNER_TEMP/forge-install.sh"
echo "$bin" >>"$GITHUB_PATH"
if [ "$FORGE_SANDBOX" = true ] && ! command -v bwrap >/dev/null; then
	root=
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq && $root apt-get install -qq -y bubblewrap ||
		echo "forge: bubblewrap could not be installed; forge doctor says what protects this machine" >&2
fi
