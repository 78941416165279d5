#!/bin/sh
# What a container does. PROJECT_URL is the project's remote, without a password: git's own
# credentials let it in. Workers need no clone; setup and the factory have one, at the same
# path on each machine, which is kept.
#
#	work.sh setup    what the Temporal server needs, once
#	work.sh worker   works on runs until it is stopped
#	work.sh effect   works on one effect, and ends
#	work.sh decide   decides for the runs whose effects others work on
#	work.sh factory  the board and its pages
set -eu
: "${PROJECT_URL:?is not set: the address of the remote}"
dir=${PROJECT_DIR:-/srv/shop}
clone() {
	if [ ! -d "$dir/.git" ]; then
		git clone "$PROJECT_URL" "$dir.new"
		mv "$dir.new" "$dir"
	fi
	cd "$dir"
}
case ${1:-worker} in
setup) clone; exec forge-temporal setup ;;
worker) exec forge-temporal worker --mirror "$PROJECT_URL" ;;
decide) exec forge-temporal worker --mirror "$PROJECT_URL" --decide ;;
effect) exec forge-temporal worker --mirror "$PROJECT_URL" --effects 1 ;;
factory) clone; exec forge factory --listen "${FORGE_LISTEN:-127.0.0.1:7433}" ;;
*)
	echo "work.sh: unknown word $1: setup, worker, effect, decide or factory" >&2
	exit 2
	;;
esac
