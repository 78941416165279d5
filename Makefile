# make forge-temporal   forge with Postgres, for several machines
# make demo    see Forge work, in a repository made for it
# make test    the tests that take no more than seconds, offline
# make check   vet, format, linters, every other test, the race detector, the macOS build
# make test-real   against real programs: bubblewrap, every agent at a pinned version
# make bench   what Forge costs, beside the floor measured in the same run
# make bench-proof   cheats and honest changes against Forge's proof, into docs/proof.md
# make pictures   every page as a picture, into bin/pictures
# make recording   forge do in a terminal, into docs/pictures/terminal.svg
# make release VERSION=0.1.0 [KEY=FILE] BASE=URL   archives, packages, sums, installer into dist
# make fuzz    each fuzz target for FUZZTIME
# make load    a day of a factory in fast motion, half an hour: 2,000 issues, 64 at once, into docs/load.md
# make scale   10 to 1,000 runs at once on a Temporal server, into docs/scale.md
# make soak    hours: FORGE_KILLS kills of each sort, all of what others sample, races in everything, make load

GO       ?= go
FUZZTIME ?= 30s
BENCHTIME ?= 1s
FORGE_KILLS ?= 200

.PHONY: all help build forge-temporal demo test times check vet fmt lint schedules long race beside others rooms darwin test-real bench bench-proof pictures recording release fuzz load scale soak clean

all: build

help:
	@sed -n 's/^# //p;/^$$/q' Makefile

build:
	$(GO) build -trimpath -o bin/forge .

# forge with what many machines need: a module of its own.
LARGER = cmd/forge-temporal
forge-temporal:
	cd $(LARGER) && $(GO) build -trimpath -o ../../bin/forge-temporal .

demo: build
	bin/forge demo

# Tests wait more than they count: for processes, limits, each other. So more of
# them are under way than there are cores. Nobody looks at their programs with a
# debugger (-s -w). They live for seconds with a small heap, which need not be
# collected again and again (GOGC); one that grows large is (GOMEMLIMIT).
# What takes long without a reason is said; make times fails for it, on a machine
# where nobody else works, and writes the table of the times.
TESTING = -ldflags="-s -w" -p 3 -parallel 4
# A python3 that starts four shells to find python is passed over.
test times long beside others: export TMPDIR := $(shell scripts/tmp.sh)
test times long beside others: export PATH := $(shell scripts/path.sh)
test times long beside others: export GOGC = 400
test times long beside others: export GOMEMLIMIT = 2GiB
# Slow ones are left to make race and make long, and what goes on at once to make race:
# see internal/pace.
test: export FORGE_PACE = short
test:
	quick=$$($(GO) run ./internal/pace/pick quick) && \
		$(GO) test -json $(TESTING) -timeout 30m $$quick | $(GO) run ./internal/pace/times

times:
	$(GO) test -json -count=1 $(TESTING) -timeout 30m ./... | $(GO) run ./internal/pace/times -strict -write docs/test-times.md

# The cheap ones first, then the longest, so that with -j2 short ones go on beside their
# last tests.
check: vet fmt rooms darwin lint beside long others schedules

vet:
	$(GO) vet -tags real ./...
	cd $(LARGER) && $(GO) vet -tags real ./...

# Not by package: files for other systems count as well.
fmt:
	@out=$$(find . -name '*.go' -not -path './.git/*' -not -path '*/testdata/*' | xargs gofmt -l) && \
		if [ -n "$$out" ]; then printf 'not formatted:\n%s\n' "$$out" >&2; exit 1; fi

rooms:
	$(GO) test -count=1 -run '^TestRooms' ./internal/house

# cgo is off, as it is when building for another system.
darwin:
	CGO_ENABLED=0 GOOS=darwin $(GO) build -o /dev/null ./...
	CGO_ENABLED=0 GOOS=darwin $(GO) vet ./...
	cd $(LARGER) && CGO_ENABLED=0 GOOS=darwin $(GO) build -o /dev/null ./...

lint:
	scripts/lint.sh

# A fifth of the schedules of each world, and those that go where these do not: make
# soak plays all.
schedules: export GOGC = 400
schedules:
	$(GO) test -count=1 -ldflags="-s -w" -timeout 30m -run 'Simulation' ./orchestrator

# The slow tests in which the race detector has nothing to find, without simulations,
# which make schedules plays.
long: export FORGE_PACE = long
long:
	left=$$($(GO) run ./internal/pace/pick long) && \
		$(GO) test -json -vet=off -skip Simulation $(TESTING) -timeout 30m $$left | $(GO) run ./internal/pace/times

# By itself the detector holds each process for a second when it ends. SQLite's
# translated C is not watched, which would take most of the time; no more is left
# out, since the linker may take the unwatched instance of a generic type for all.
# A test or script in which nothing happens at the same time says so, and is
# skipped: see pace.Sequential, and "# at once:" in scripts. Of some packages only those
# are watched that begin something beside themselves: see pace.OnlyBeside. Vet has a
# target of its own.
RACE = -race -vet=off -gcflags='modernc.org/sqlite/lib=-race=false' -timeout 30m
beside others: export GORACE = atexit_sleep_ms=0
beside others:
	part=$$($(GO) run ./internal/pace/pick $@) && $(GO) test $(RACE) $(TESTING) $$part

race: beside others

test-real:
	scripts/real.sh

bench:
	scripts/bench.sh $(BENCHTIME)

bench-proof: build
	scripts/bench-proof.sh

pictures:
	scripts/pictures.sh

recording: build
	scripts/recording.sh

release:
	scripts/release.sh -version "$(VERSION)" -key "$(KEY)" -base "$(BASE)"

fuzz:
	scripts/fuzz.sh $(FUZZTIME)

# Worth something on a machine where nobody else works.
load: export FORGE_DAY_ISSUES ?= 2000
load: export FORGE_DAY_AT_ONCE ?= 64
load:
	FORGE_DAY_WRITE=1 $(GO) test -tags real -count=1 -timeout 120m -run '^TestRealFactoryDay$$' ./internal/e2e

scale:
	FORGE_PACE=soak FORGE_SCALE_WRITE=1 scripts/real.sh -run '^TestRealTemporalScale$$' ./cmd/forge-temporal/internal/temporal

soak: export FORGE_KILLS := $(FORGE_KILLS)
soak:
	env -u FORGE_KILLS GORACE=atexit_sleep_ms=0 $(GO) test $(RACE) $(TESTING) -timeout 120m ./...
	FORGE_SCHEDULES=all $(GO) test -count=1 -timeout 90m -run 'Simulation' ./orchestrator
	FORGE_SCHEDULES=5000 $(GO) test -count=1 -timeout 90m -run '^TestSeeded' ./orchestrator
	FORGE_SCHEDULES=10000 $(GO) test -count=1 -timeout 90m -run '^TestReconciling' ./factory/tracker
	$(GO) test -count=1 -timeout 90m -run '^TestMove' ./internal/git
	$(GO) test -count=1 -timeout 90m -run '^Test(KillAtDelivery|FullStateDisk|LimitsOfTheProcess)$$' ./internal/e2e
	FORGE_PACE=soak FORGE_REAL_RUNNERS=all FORGE_OUTAGE=10m FORGE_SCALE_WRITE=1 scripts/real.sh
	$(MAKE) load

clean:
	rm -rf bin
