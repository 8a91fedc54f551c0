# ringd. `make help` lists what there is; `make demo` shows what it does.

# Tools are pinned here and run through the Go module proxy.
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0

BIN         := bin/ringd
REVIEWER    := bin/demo-reviewer
ENGINE      := executors/js/engine/wasm/quickjs.wasm
# The second engine of Python, opt-in: it lies beside the binary, not in it.
PYWASM      := executors/python/wasm/place/npm/python-3.11.3.wasm
# The init of a guest, embedded by package image: a small static program for each architecture.
INIT        := rings/kernel/initimage/init_linux_amd64 rings/kernel/initimage/init_linux_arm64
MADE        := $(ENGINE) $(INIT)
FUZZTIME    ?= 60s
PREFIX      ?= /usr/local
TESTFLAGS   ?=
# Tests wait for guests a good part of their time: one package more than there are processors.
JOBS        := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
empty       :=
space       := $(empty) $(empty)
# The race detector watches, at every change, the packages of executors, rings and cmd/ringd/internal, whose goroutines
# share memory. Not these: their tests run processes under memory limits, which the memory of the detector would break, or the
# WebAssembly Python, which it would compile for minutes.
PLAIN       := cmd/ringd/internal/worker executors/python/wasm executors/python/pyguest executors/js/engine
# The opt-in engine of Python: `make long` tests it.
OPTIN       := executors/python/wasm
# Nor these, which take it minutes, nor the pure packages: `make long` watches them.
LATER       := cmd/ringd rings/kernel cmd/ringd/internal/audit executors/js executors/python executors/shell
PURE        := ./schema/... ./profiles/... ./compiler/...
# Each takes longer than a change should wait for: a siege, each call of a set-up failing, a process killed anywhere,
# every hostile source, 10,000 random policies. Of the race detector only SIEGE is left out in `make long`.
SIEGE       := Siege|Inject|InjectLower
SLOW        := ^Test($(SIEGE)|KillAnywhere|OlderEngine|ManyPausedRuns|Hostile(Sources|Rego)|DiedChildren|Reloads|Yields|Narrowing|NarrowingOfExceptions|NoWideningLoosensNothing|TornTail|Kill9|ArchiveHeadTooLarge|FailedLaunchesLeaveNothing|ProcessorTimeOfChildren|RepositoryBorne|RingAlone|HookAlone|Ordinary|AfterAttacks|NothingHolds|FullDiskDialsNothing|NoCloseKeepsAWall|OneClaimWins)$$
# The tests that keep golden files, and where they are; `make golden` rewrites them.
GOLDEN      := -run '^Test(Mistakes|ErrorNames|Golden|Document|Reference|EgressAttackFile|Arguable|Numbers|DocumentIsWhatTheCodeSays)$$' \
  ./executors ./schema ./schema/convert ./compiler ./compiler/enforcement ./compiler/layers ./profiles \
  ./executors/shell/dryrun ./rings/kernel/seccomp ./cmd/ringd/internal/api/openapi

# Where ringd also builds: guests need Linux, policies do not. Releases are of these, and of linux/amd64.
OTHERS      := linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Of these, one of each system and architecture: what differs between two is in none of our files.
CROSS       := linux/arm64 darwin/arm64 windows/amd64

# Where git cannot be asked (another owner's checkout, a tarball) the build goes on without its stamp.
VCS         := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
BUILD       := go build -trimpath -buildvcs=$(VCS)

# A home that is missing or cannot be written to gets caches under the project.
ifneq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo yes),yes)
export GOPATH           ?= $(CURDIR)/.cache/go
export GOCACHE          ?= $(CURDIR)/.cache/go-build
export GOMODCACHE       ?= $(CURDIR)/.cache/go/pkg/mod
export npm_config_cache ?= $(CURDIR)/.cache/npm
export XDG_CACHE_HOME   ?= $(CURDIR)/.cache
endif
export GOFLAGS ?= -buildvcs=false
# Static binaries: a guest starts faster without the dynamic linker. Only the race detector needs C.
export CGO_ENABLED ?= 0

.PHONY: help demo build install engine python-wasm init test check fmt tidy vet cross lint arch golden golden-clean fuzz mutants bench bench-once long soak release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## three reviewers under one policy, an attack, a push, an approval across a kill, the network, shell, Python, layers
	go build -o $(REVIEWER) ./testdata/demo/reviewer
	@bash testdata/demo/run.sh $(CURDIR)/$(BIN) $(CURDIR)/$(REVIEWER)

build: $(MADE) ## bin/ringd
	@mkdir -p bin
	$(BUILD) -o $(BIN) ./cmd/ringd

# Not after build: `sudo make install` would build again, as root.
install: ## bin/ringd into PREFIX/bin, /usr/local without a PREFIX; after `make build`
	@test -x $(BIN) || { echo "there is no $(BIN): type 'make build' first" >&2; exit 2; }
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/ringd
	@if test -d bin/python-wasm; then install -D -m 0644 -t $(DESTDIR)$(PREFIX)/bin/python-wasm bin/python-wasm/*; fi

engine: $(MADE) ## what is embedded: the JavaScript engine, fetched and checked, and the init of a guest

python-wasm: $(PYWASM) ## the second engine of Python, fetched and checked, beside bin/ringd
	@mkdir -p bin/python-wasm
	cp executors/python/wasm/place/npm/python-3.11.3.* bin/python-wasm/

$(PYWASM): executors/python/wasm/place/place.go executors/python/wasm/place/fetch.sh
	sh executors/python/wasm/place/fetch.sh
	@touch $@

init: $(INIT) ## the init of a guest alone

$(ENGINE): executors/js/engine/package-lock.json
	sh executors/js/engine/fetch.sh
	@touch $@

rings/kernel/initimage/init_linux_%: go.mod go.sum $(filter-out %_test.go,$(wildcard rings/kernel/init/*.go rings/kernel/guestinit/*.go rings/kernel/procfs/*.go rings/kernel/initproto/*.go))
	CGO_ENABLED=0 GOOS=linux GOARCH=$* GOFLAGS= GOEXPERIMENT= GOAMD64=v1 GOARM64=v8.0 \
	  go build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o $@ ./rings/kernel/init

# either is a pattern of the paths that end in one of some packages.
either       = /($(subst $(space),|,$(strip $(1))))$$

test: $(MADE) $(PYWASM) ## every test but those of `make long`; with the race detector where goroutines share memory
	CGO_ENABLED=1 go test -race -p $(JOBS) -timeout 20m $(TESTFLAGS) -skip '$(SLOW)' \
	  $$(go list ./executors/... ./rings/... ./cmd/ringd/internal/... | grep -vE '$(call either,$(PLAIN) $(LATER))')
	go test -p $(JOBS) -timeout 20m $(TESTFLAGS) -skip '$(SLOW)' $(addprefix ./,$(LATER) $(filter-out $(OPTIN),$(PLAIN))) $(PURE)

long: $(MADE) $(PYWASM) ## what `make test` leaves out: slow tests, and the race detector for guests, whole daemons and pure packages
	CGO_ENABLED=1 go test -race -timeout 30m $(TESTFLAGS) -skip '^Test($(SIEGE))$$' $(addprefix ./,$(LATER))
	CGO_ENABLED=1 go test -race -timeout 30m $(TESTFLAGS) -skip '$(SLOW)' $(PURE)
	go test -timeout 30m $(TESTFLAGS) -run '^Test($(SIEGE))$$' ./cmd/ringd ./rings/kernel
	go test -timeout 30m $(TESTFLAGS) -run '$(SLOW)' $$(go list ./... | grep -vE '$(call either,$(LATER) $(OPTIN))')
	go test -timeout 20m $(TESTFLAGS) $(addprefix ./,$(OPTIN))

check: fmt tidy vet lint arch cross golden-clean bench-once ## what CI runs beside `make test`: format, modules, vet, lint, architecture, other systems, golden files, benches

fmt: ## refuse unformatted files
	@out=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go' -not -path './.cache/*')); \
	if [ -n "$$out" ]; then echo "not formatted, run gofmt -w:"; echo "$$out"; exit 1; fi

tidy: ## refuse a go.mod that go mod tidy would change
	go mod tidy -diff

vet: $(MADE)
	go vet ./...

cross: $(MADE) ## build and vet, with the tests, for the other systems
	@set -e; export CGO_ENABLED=0; for on in $(CROSS); do \
	  echo "$$on"; export GOOS=$${on%/*} GOARCH=$${on#*/}; go build ./...; go vet ./...; \
	done

# Its cache belongs to this checkout: one shared between checkouts repeats the
# findings of a folder that is gone.
lint: $(MADE) ## golangci-lint, pinned
	GOLANGCI_LINT_CACHE=$(CURDIR)/.cache/golangci-lint go run $(GOLANGCI) run ./...

arch: ## the import graph, owners, calls and sizes
	go test -count=1 -run "TestLayers|TestOwners|TestCalls|TestSizes|TestRows|TestTables|TestWalls|TestPackageNames|TestLargeTypes|TestAliases|TestUnused|TestRulesCatch" ./cmd/ringd

golden: $(MADE) ## rewrite the golden files
	RINGD_UPDATE=1 go test -count=1 $(GOLDEN)

golden-clean: $(MADE) ## golden files are what the code makes
	@before=$$(git diff | sha256sum); \
	RINGD_UPDATE=1 go test -count=1 $(GOLDEN) || exit 1; \
	if [ "$$before" != "$$(git diff | sha256sum)" ]; then echo "golden files changed:"; git diff --stat; exit 1; fi

fuzz: $(MADE) ## every fuzz target for FUZZTIME (60s) each
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

mutants: $(MADE) ## each check of the egress decision taken out in turn: a test has to fail
	RINGD_MUTANTS=1 go test -timeout 60m -run '^TestMutants$$' ./profiles/egress

bench: build $(PYWASM) ## benchmarks, and the peers side by side: engines, launchers and proxies
	go test -run '^$$' -bench . -benchmem ./...
	@set -e; for b in js kernel egress shell python; do docs/benchmarks/$$b/run; done

bench-once: build ## build and start every bench, one round of each
	docs/benchmarks/once >/dev/null

soak: $(MADE) ## the same tests with more rounds: 10,000 pushes, 400 kills, 1,000 paused runs, 5,000 policies narrowed, all of Python on every interpreter
	RINGD_LONG=1 go test -count=1 -timeout 60m ./cmd/ringd/... ./profiles/... ./executors/python/...

release: $(MADE) ## reproducible binaries and their checksums in dist/
	@rm -rf dist && mkdir -p dist
	@set -e; for on in linux/amd64 $(OTHERS); do \
	  out=dist/ringd-$${on%/*}-$${on#*/}; case $$on in windows/*) out=$$out.exe ;; esac; echo "$$out"; \
	  GOOS=$${on%/*} GOARCH=$${on#*/} CGO_ENABLED=0 $(BUILD) -ldflags '-s -w -buildid=' -o $$out ./cmd/ringd; \
	done
	@cd dist && sha256sum ringd-* > SHA256SUMS && cat SHA256SUMS

clean: ## what make made, but not the fetched engine
	rm -rf bin dist $(INIT)
