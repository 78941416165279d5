# Sourced by the scripts beside it: the versions of the tools that Forge's own
# checks use, and where they are kept. Nothing is installed into the checkout
# or onto the user's PATH.

GOLANGCI_VERSION=v2.15.0
TASK_VERSION=v3.43.3
CLAUDE_VERSION=2.1.329
CLAUDE_ACP_VERSION=0.49.0
GOSEC_VERSION=v2.29.0
CODEX_VERSION=0.169.0
GEMINI_VERSION=0.61.0
OPENCODE_VERSION=1.18.33
GITEA_VERSION=1.26.0
TEMPORAL_VERSION=v1.5.1
# Those from 2 on need Node 22.
INSPECTOR_VERSION=1.0.3
WORKFLOWCHECK_VERSION=v0.6.0
NFPM_VERSION=v2.43.4
MOCHA_VERSION=10.8.2
JEST_VERSION=29.7.0
VITEST_VERSION=2.1.9
PNPM_VERSION=10.34.9
YARN_VERSION=1.22.22
YARN_BERRY_VERSION=4.18.1
BUN_VERSION=1.4.5
TYPESCRIPT_VERSION=5.9.3
NODE_TYPES_VERSION=20.19.25

tools=${XDG_CACHE_HOME:-$HOME/.cache}/forge-test

say() { printf '==> %s\n' "$*" >&2; }

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# apt PROGRAM PACKAGE...: installs the PACKAGEs whose PROGRAM is missing, at once, when
# this is root on a system with apt; the packages of the system are looked through after
# each installation, which takes longer than one of them. Whether a program is there
# afterwards is the caller's question. With $apt_ahead they are only fetched.
apt() {
	local missing=()
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || missing+=("$2")
		shift 2
	done
	if [ ${#missing[@]} = 0 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		return 0
	fi
	say "${apt_ahead:-installing} ${missing[*]}"
	if [ -z "${apt_updated:-}" ]; then
		apt-get update -qq </dev/null >&2 || say "apt-get update failed: trying with the lists that are there"
		apt_updated=1
	fi
	apt_install "${missing[@]}" && return 0
	local package # one that is not to be had keeps no other
	for package in "${missing[@]}"; do
		[ ${#missing[@]} -gt 1 ] && apt_install "$package" || say "$package could not be installed"
	done
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends \
		${apt_ahead:+--download-only} "$@" </dev/null >&2
}

# alone NAME COMMAND...: runs COMMAND while nobody else does so for NAME, where the
# system can see to that: who comes second finds what the first has built.
alone() {
	local name=$1
	shift
	mkdir -p "$tools"
	if ! command -v flock >/dev/null; then
		"$@"
		return
	fi
	(
		flock 9
		"$@"
	) 9>"$tools/.lock-${name//\//-}"
}

# go_program NAME VERSION PACKAGE prints the path of a program that the Go
# toolchain builds when it is missing.
go_program() { alone "$1" build_go_program "$@"; }
build_go_program() {
	local name=$1 version=$2 package=$3
	local dir=$tools/$name-$version
	if [ ! -x "$dir/$name" ]; then
		say "building $name $version, some minutes"
		local new
		new=$(mktemp -d "$tools/.new-XXXXXX")
		GOFLAGS= GOBIN=$new go install "$package@$version" >&2 ||
			die "$name $version cannot be built: is the Go module proxy within reach?"
		mkdir -p "$dir"
		mv -f "$new/$name" "$dir/$name"
		rmdir "$new"
	fi
	echo "$dir/$name"
}

golangci() { go_program golangci-lint "$GOLANGCI_VERSION" github.com/golangci/golangci-lint/v2/cmd/golangci-lint; }

# sarif_schema prints the path of the JSON schema of SARIF 2.1.0 as OASIS
# publishes it, which a module of the Go proxy carries.
sarif_schema() {
	local dir=$tools/sarif-schema-$GOSEC_VERSION
	if [ ! -s "$dir/sarif-schema-2.1.0.json" ]; then
		say "fetching the schema of SARIF"
		mkdir -p "$dir"
		local module
		module=$(cd "$dir" && GOFLAGS=-mod=mod go mod download -json "github.com/securego/gosec/v2@$GOSEC_VERSION" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
		[ -n "$module" ] || die "the schema of SARIF cannot be fetched: is the Go module proxy within reach?"
		cp "$module/report/sarif/testdata/sarif-schema-2.1.0.json" "$dir/.new"
		mv -f "$dir/.new" "$dir/sarif-schema-2.1.0.json"
	fi
	echo "$dir/sarif-schema-2.1.0.json"
}

nfpm() { go_program nfpm "$NFPM_VERSION" github.com/goreleaser/nfpm/v2/cmd/nfpm; }

gotask() { go_program task "$TASK_VERSION" github.com/go-task/task/v3/cmd/task; }

# npm_program PACKAGE VERSION PROGRAM prints the path of a pinned program of an
# npm package, which it installs when it is missing.
npm_program() { alone "$3" install_npm_program "$@"; }
install_npm_program() {
	local package=$1 version=$2 program=$3
	local dir=$tools/$program-$version
	local bin=$dir/node_modules/.bin/$program
	if [ ! -x "$bin" ]; then
		command -v npm >/dev/null || die "$program is installed by npm, which is not in PATH: install Node and npm"
		say "installing $package $version"
		local new
		new=$(mktemp -d "$tools/.new-XXXXXX")
		# The version is named because npm otherwise takes an older one that
		# asks for the running Node.
		npm install --prefix "$new" --no-audit --no-fund --no-save --no-update-notifier --loglevel=error \
			"$package@$version" </dev/null >&2 ||
			die "$package $version cannot be installed: is the npm registry within reach?"
		rm -rf "$dir"
		mv "$new" "$dir"
	fi
	# Some write to their home even to say that.
	local is
	is=$(HOME=$dir DISABLE_AUTOUPDATER=1 OPENCODE_DISABLE_AUTOUPDATE=1 "$bin" --version </dev/null 2>&1) || die "$bin does not run: $is"
	# A server says nothing before it is asked in its protocol.
	[ -n "$is" ] || is=$(sed -n 's/^ *"version": *"\(.*\)".*/\1/p' "$dir/node_modules/$package/package.json")
	case " $is " in
	*" $version "*) ;;
	*) die "$bin is $is and not $version: remove $dir" ;;
	esac
	echo "$bin"
}

# npm_modules NAME PACKAGE@VERSION... prints a node_modules folder that holds the
# packages, which are installed when it is missing.
npm_modules() { alone "modules-$1" install_npm_modules "$@"; }
install_npm_modules() {
	local name=$1
	shift
	local dir
	dir=$tools/modules-$(printf '%s' "$*" | tr -c 'a-z0-9.\n' -)
	if [ ! -d "$dir/node_modules" ]; then
		command -v npm >/dev/null || { say "npm is not in PATH: install Node and npm"; return 1; }
		say "installing $*"
		local new
		new=$(mktemp -d "$tools/.new-XXXXXX")
		if ! npm install --prefix "$new" --no-audit --no-fund --no-save --no-update-notifier --loglevel=error "$@" </dev/null >&2; then
			say "$name cannot be installed: is the npm registry within reach?"
			return 1
		fi
		rm -rf "$dir"
		mv "$new" "$dir"
	fi
	echo "$dir/node_modules"
}

claude() { npm_program @anthropic-ai/claude-code "$CLAUDE_VERSION" claude; }
gemini() { npm_program @google/gemini-cli "$GEMINI_VERSION" gemini; }
opencode() { npm_program opencode-ai "$OPENCODE_VERSION" opencode; }
codex() { npm_program @openai/codex "$CODEX_VERSION" codex; }
claude-acp() { npm_program @agentclientprotocol/claude-agent-acp "$CLAUDE_ACP_VERSION" claude-agent-acp; }

# gitea prints the path of a Gitea server, which the Go toolchain builds from
# its module when it is missing. Templates and translations are not in the
# program: gitea_src prints the folder that it reads them from.
gitea() { alone gitea build_gitea; }
build_gitea() {
	local dir=$tools/gitea-$GITEA_VERSION
	if [ ! -x "$dir/gitea" ]; then
		apt gcc gcc
		apt cc libc6-dev
		command -v gcc >/dev/null || die "gitea is built with a C compiler: install gcc"
		say "building gitea $GITEA_VERSION, three to five minutes"
		local new module
		new=$(mktemp -d "$tools/.new-XXXXXX")
		module=$(cd "$new" && GOFLAGS=-mod=mod go mod download -json "code.gitea.io/gitea@v$GITEA_VERSION" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
		[ -n "$module" ] || die "gitea $GITEA_VERSION cannot be fetched: is the Go module proxy within reach?"
		# The module cache is read-only, and a build inside it is refused.
		cp -R "$module" "$new/src"
		chmod -R u+w "$new/src"
		(cd "$new/src" && GOFLAGS= CGO_ENABLED=1 go build -trimpath -tags 'sqlite sqlite_unlock_notify' \
			-ldflags "-s -w -X main.Version=$GITEA_VERSION" -o "$new/gitea" .) >&2 ||
			die "gitea $GITEA_VERSION cannot be built"
		rm -rf "$dir"
		# What it reads while it runs; the rest is 60 MB of source.
		mkdir "$new/static"
		mv "$new/src/templates" "$new/src/options" "$new/src/public" "$new/static/"
		rm -rf "$new/src"
		# mktemp made it for this user alone; the server runs as another.
		chmod -R a+rX "$new"
		mv "$new" "$dir"
	fi
	echo "$dir/gitea"
}

gitea_src() {
	gitea >/dev/null
	echo "$tools/gitea-$GITEA_VERSION/static"
}

# temporal prints the path of a Temporal server for development.
temporal() { go_program temporal "$TEMPORAL_VERSION" github.com/temporalio/cli/cmd/temporal; }

# workflowcheck prints the path of what looks for what is not the same twice in workflows.
workflowcheck() { go_program workflowcheck "$WORKFLOWCHECK_VERSION" go.temporal.io/sdk/contrib/tools/workflowcheck; }
