#!/bin/sh
# What a container does: a clone of the project, at the same path on each machine, then
# what was asked for. PROJECT_URL is the project's remote; the clone is kept.
#
#	work.sh setup    what the Temporal server needs, once
#	work.sh worker   works on runs until it is stopped
#	work.sh factory  the board and its pages
set -eu
dir=${PROJECT_DIR:-/srv/shop}
if [ ! -d "$dir/.git" ]; then
	git clone "${PROJECT_URL:?is not set: the address of the remote}" "$dir.new"
	mv "$dir.new" "$dir"
fi
cd "$dir"
case ${1:-worker} in
setup) exec forge-temporal setup ;;
worker) exec forge-temporal worker ;;
factory) exec forge factory --listen "${FORGE_LISTEN:-127.0.0.1:7433}" ;;
*)
	echo "work.sh: unknown word $1: setup, worker or factory" >&2
	exit 2
	;;
esac
