# Nothing but Go, git and make is needed. Tools are built from Go modules, pinned under .ci/, and cached by Go itself.

export GOWORK := off

# What is compiled is the same wherever the repository is, so that another checkout of it finds it in Go's cache.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# Go's race detector needs a C compiler; without one the tests run all the same and say so.
RACE    = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
NO_RACE = === SKIP: the race detector, because it needs cgo: a C compiler and CGO_ENABLED=1

# The product, its tests, and the campaigns and benchmarks, each a module.
MODULES := . e2e e2e/campaigns e2e/bench

RESULTS       := $(CURDIR)/build/results
GOTESTSUM     := go tool -modfile=$(CURDIR)/.ci/gotestsum/go.mod gotestsum
HELM_UNITTEST := go tool -modfile=$(CURDIR)/.ci/helmunittest/go.mod helm-unittest
GOLANGCI_LINT := go tool -modfile=$(CURDIR)/.ci/lint/go.mod golangci-lint

##@ Try it

.PHONY: help
help: ## List what make can do (the default)
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: ## Schedule thousands of pods on a real control plane (DEMO_NODES, DEMO_PODS, DEMO_KEEP=1)
	@echo "The first time a control plane and muster are compiled from their sources, in about ten minutes on two cores."
	@cd e2e && DEMO_BEGAN=$$(date +%s) go run ./cmd/demo

.PHONY: operators
operators: ## Say what muster makes of the pods of controllers of others, which nobody has edited
	@cd e2e && go run ./cmd/operators

.PHONY: controlplane
controlplane: ## Start a real control plane to play with; Ctrl-C stops it
	@cd e2e && go build -o $(CURDIR)/build/playground/ ./cmd/controlplane
	@# In a process group of its own Ctrl-C is for the program alone: make, and 'go run', would end with a failure.
	@{ set -m; } 2> /dev/null; cd e2e && $(CURDIR)/build/playground/controlplane

##@ Build

# Without these pages of gRPC, which nothing of muster serves: they fill in templates that call methods by their names, for which a
# linker keeps all methods that there are.
TAGS := grpcnotrace

.PHONY: build
build: ## Build bin/muster, and say how large it is
	go build -buildvcs=auto -trimpath -tags $(TAGS) -ldflags '-s -w' -o bin/ ./cmd/muster
	@awk -v bytes="$$(wc -c < bin/muster)" 'BEGIN { printf "figure binary_mb=%.1f\n", bytes / 1e6 }'

.PHONY: size
size: ## Say what makes bin/muster large: modules by their symbols, and what keeps methods that nobody calls
	@.ci/size $(TAGS) ./cmd/muster

.PHONY: release-snapshot
release-snapshot: | $(RESULTS) ## Make what a release has into dist: archives, image, charts, SBOMs, checksums; then install it and place a pod and a gang
	cd e2e && go run ./cmd/release -snapshot
	cd e2e && RELEASE_DIR=$(CURDIR)/dist $(GOTESTSUM) --format standard-verbose -- -count=1 -timeout 20m -run TestWhatIsReleased ./chart

# The version of axe-core that the page is checked with, and the checksum of its package.
AXE := 4.14.1
AXE_SHA256 := e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
AXE_SCRIPT := $(RESULTS)/axe/$(AXE)/axe.min.js

.PHONY: axe
axe: $(AXE_SCRIPT) ## Check the page by the rules of axe-core, which npm fetches: at three widths, light and dark; needs Chromium
	cd e2e && AXE=$(AXE_SCRIPT) PAGE_SCREENSHOTS=$(RESULTS)/page go test ./page -run 'TestThePageShows|TestThePageFits' -count=1 -v -timeout 40m

$(AXE_SCRIPT): | $(RESULTS)
	mkdir -p $(@D) && cd $(@D) && npm pack --silent axe-core@$(AXE) && \
		echo "$(AXE_SHA256)  axe-core-$(AXE).tgz" | sha256sum -c - && tar -xzf axe-core-$(AXE).tgz --strip-components 1 package/axe.min.js

.PHONY: screenshot
screenshot: | $(RESULTS) ## Take the picture of the page that the README shows, by the page's test, which needs Chromium
	cd e2e && PAGE_SCREENSHOTS=$(RESULTS)/page go test ./page -run TestThePageShows -count=1
	cp $(RESULTS)/page/light.png docs/pictures/page.png

.PHONY: docs-site
docs-site: ## Make a site of the documentation in build/site, and check its links, anchors and pictures
	cd e2e && go run ./cmd/docsite

.PHONY: update
update: generate generate-chart ## Rewrite all that is checked in and made of something else: golden files and tables, too
	go test ./api/config/v1alpha1 ./api/config/v1alpha2 ./cmd/muster -update
	go test ./predicates -run TestTheInvalidationMatrix -update
	cd e2e && go run ./cmd/house -update

.PHONY: generate
generate: ## Write the deep copies and the CRDs of api/rescheduling, api/scheduling and api/slo
	.ci/controllergen/generate

.PHONY: generate-chart
generate-chart: ## Write the table of values in the chart's README
	cd e2e && go test ./chart -run TestTheReadmeHasTheValues -update

.PHONY: reference
reference: ## Rewrite docs/reference: flags, configuration, endpoints and metrics
	go test ./cmd/muster -run '^TestTheReference' -update

.PHONY: fmt
fmt: ## Format the code
	for module in $(MODULES); do (cd $$module && $(GOLANGCI_LINT) fmt) || exit 1; done

.PHONY: lint
lint: ## Run the linters over all modules
	@status=0; \
	for module in $(MODULES); do \
		echo "== go mod tidy, golangci-lint run, in $$module"; \
		(cd $$module && go mod tidy -diff) || status=1; \
		(cd $$module && $(GOLANGCI_LINT) run) || status=1; \
	done; \
	(cd e2e && go mod tidy -modfile=go.$(OLDER).mod -diff) || status=1; \
	exit $$status

.PHONY: house
house: ## Measure the structure of the main module: size, options, models, large types, imports against the table in docs/design.md, listed words
	@cd e2e && go run ./cmd/house
	@$(MAKE) --no-print-directory interleavings

# How many states of each model of gangs are looked at, at least: 1,350,000 in all, in two minutes or so.
INTERLEAVINGS ?= 100000

.PHONY: interleavings
interleavings: ## Take all steps of small models of gangs in every order, from as many states of each as INTERLEAVINGS says
	@out=$$(INTERLEAVINGS=$(INTERLEAVINGS) go test ./gang/core -run '^TestInterleavings$$' -count=1 -v -timeout 30m) || { echo "$$out"; exit 1; }; \
	echo "$$out" | grep -oE '(figure|[0-9]+ states).*'

##@ Test

# How many random situations explanations are held against: half an hour on one core.
EXPLAIN_SITUATIONS ?= 100000

.PHONY: explain-check
explain-check: | $(RESULTS) ## Hold what is said of pods, gangs and nodes that wait against itself, and against what happens next (EXPLAIN_SITUATIONS; EXPLAIN_SEED for one)
	@EXPLAIN_SITUATIONS=$(EXPLAIN_SITUATIONS) EXPLAIN_SEED=$(EXPLAIN_SEED) \
		go test ./server/explanation -run '^TestExplanationsAddUp$$' -count=1 -v -timeout 4h 2>&1 | tee $(RESULTS)/explain.txt | \
		sed -nuE 's/.*(figure .*)/\1/p; t; s/.*check_test.go:[0-9]+: //p; t; /situations, /p'; \
	grep -q '^ok' $(RESULTS)/explain.txt || { cat $(RESULTS)/explain.txt; exit 1; }

# How many tests of a package run at a time. They wait for a control plane more than they compute.
PARALLEL ?= 4

# Random draws start from this; the nightly workflow sets another one.
export MUSTER_SEED ?= 1
export CONFORMANCE_SEED ?= $(MUSTER_SEED)

# Runs tests, with their output and a record: $(call go-test,NAME,DIRECTORY,FLAGS PACKAGES).
go-test = cd $(2) && $(GOTESTSUM) --format standard-quiet --jsonfile $(RESULTS)/$(1).json -- $(3)

# Runs targets one after the other, even when one fails, then says what was skipped, what failed and where the time went:
# $(call all-of,TARGETS,FLAGS OF TESTTIMES).
define all-of
@status=0; began=$$(date +%s); rm -rf $(RESULTS); \
for target in $(1); do \
	echo "== make $$target"; \
	$(MAKE) --no-print-directory $$target || status=1; \
done; \
echo "== what was skipped"; \
$(GOTESTSUM) --format none --hide-summary failed,errors --raw-command -- cat $(RESULTS)/*.json; \
$(if $(RACE),,echo "$(NO_RACE)";) \
if [ $$status != 0 ]; then \
	echo "== what failed, and what the tests said of it"; \
	$(GOTESTSUM) --format none --hide-summary skipped --raw-command -- cat $(RESULTS)/*.json | grep -E '^=== (FAIL|ERROR)|_test\.go:[0-9]+:|panic:|DATA RACE' | tail -n 60; \
fi; \
echo "== where the time went"; \
(cd e2e && go run ./cmd/testtimes $(2) $(RESULTS)/*.json) || status=1; \
awk "BEGIN { printf \"figure $(@:-=_)_minutes=%.1f\n\", ($$(date +%s) - $$began) / 60 }"; \
exit $$status
endef

.PHONY: test
test: ## Run what every change must pass, then say what was skipped and where the time went
	$(call all-of,test-race test-e2e test-chart test-judges)

.PHONY: test-long
test-long: ## Run everything else that can fail: campaigns, attacks, upgrades, the older Kubernetes, each benchmark and tool once (MUSTER_SEED)
	@echo "seed $(MUSTER_SEED)"
	$(call all-of,test-whole test-whole-e2e test-campaigns test-bench test-older test-tools,$(if $(wildcard e2e/budget.txt),-budget budget.txt))

.PHONY: test-budget
test-budget: ## Write e2e/budget.txt, the seconds that packages may take, from the last make test-long
	cd e2e && go run ./cmd/testtimes -budget budget.txt -write $(RESULTS)/*.json

.PHONY: test-again
test-again: ## Run make test RUNS times in a row, half of them beside a busy core and a control plane, and count what failed
	.ci/again $(or $(RUNS),12)

.PHONY: test-unit
test-unit: | $(RESULTS) ## Run the main module's tests
	$(call go-test,unit,.,-short ./...)

.PHONY: test-race
test-race: | $(RESULTS) ## Run the main module's tests under the race detector, and see that locks are taken in their order
	$(if $(RACE),,@echo "$(NO_RACE)")
	@# By default each process sleeps for a second before it ends.
	export GORACE=atexit_sleep_ms=10; \
	$(call go-test,race,.,-count=1 $(RACE) -tags lockorder -short ./...)

.PHONY: test-e2e
test-e2e: | $(RESULTS) ## Run the tests against a real control plane (screenshots of the page: build/results/page)
	export PAGE_SCREENSHOTS=$(RESULTS)/page; \
	$(call go-test,e2e,e2e,-count=1 -timeout 40m -short -parallel $(PARALLEL) $$(go list ./... | grep -v /e2e/chart$$))

.PHONY: test-judges
test-judges: | $(RESULTS) ## Run the tests of what campaigns and benchmarks judge by, without a control plane
	$(call go-test,campaigns,e2e/campaigns,-count=1 -short ./...)
	$(call go-test,bench,e2e/bench,-count=1 -short ./...)

.PHONY: test-chart
test-chart: | $(RESULTS) ## Run the chart's suites (charts/muster/tests); lint, render and install it with the real Helm; run its alerts with Prometheus' own engine
	.ci/controllergen/generate --check
	$(HELM_UNITTEST) --strict charts/muster
	$(call go-test,chart,e2e,-count=1 -timeout 40m -short -parallel $(PARALLEL) ./chart)

.PHONY: install-check
install-check: ## Install muster without Helm by the commands of the pages, place a pod and a gang, and uninstall it: kubeadm, k3s and managed
	@out=$$(cd e2e && go test ./chart -run '^TestInstalledAndUninstalledByTheCommandsOfThePages$$' -count=1 -v -timeout 20m) || { echo "$$out"; exit 1; }; \
	echo "$$out" | grep -oE 'figure .*'

.PHONY: kueue-check
kueue-check: ## Have the real Kueue admit jobs by quotas larger than the room, with muster's admission check and without, and count what waits for a place
	@out=$$(cd e2e && go test ./manifests -run '^TestKueueAdmitsOnlyWhatHasAPlace$$' -count=1 -v -timeout 60m) || { echo "$$out"; exit 1; }; \
	echo "$$out" | grep -oE 'figure .*'

.PHONY: test-whole
test-whole: | $(RESULTS) ## Run the main module's tests at their full size
	$(call go-test,whole,.,-count=1 -timeout 60m ./...)

.PHONY: test-whole-e2e
test-whole-e2e: | $(RESULTS) ## Run all tests against a real control plane, the chart's included
	$(call go-test,whole-e2e,e2e,-count=1 -timeout 60m -parallel $(PARALLEL) ./...)

.PHONY: test-campaigns
test-campaigns: | $(RESULTS) ## Run each campaign, all attacks and a soak, small
	$(call go-test,whole-campaigns,e2e/campaigns,-count=1 -timeout 60m ./...)

.PHONY: test-bench
test-bench: | $(RESULTS) ## Run every benchmark that make names once, as small as it goes
	$(call go-test,whole-bench,e2e/bench,-count=1 -timeout 60m ./...)

.PHONY: test-tools
test-tools: ## Run what else this file names, once and small
	$(MAKE) --no-print-directory docs-site house explain-check INTERLEAVINGS=20000 EXPLAIN_SITUATIONS=5000
	$(MAKE) --no-print-directory fuzz FUZZ_TIME=1m
	$(MAKE) --no-print-directory release-snapshot

# The release of Kubernetes before the newest one that is tested with. e2e/go.$(OLDER).mod pins it.
OLDER := 1.36

# What is compiled with the plugins of that release instead of the newest one's.
WITH_OLDER := -modfile=go.$(OLDER).mod -tags=kubernetes$(subst .,,$(OLDER))

# Tests of a real control plane that are decisive: of gangs, of devices, of how muster chooses, and what the chart installs.
DECISIVE := TheSeedsGang|DevicesAre|WithItsDevices|SharesAClaim|KeepApart|ThatWaitAreBound|WhateverGoesWrong|OfAJobStartsWhole|WhatIsRendered|InOnePodWith

.PHONY: test-older
test-older: | $(RESULTS) ## Run what is decisive with the release of Kubernetes before the newest one: conformance, the extender, gangs under faults (test-matrix: all)
	$(call go-test,older-conformance,e2e,-count=1 -timeout 60m $(WITH_OLDER) ./conformance)
	export E2E_KUBERNETES=$(OLDER); \
	$(call go-test,older,e2e,-count=1 -timeout 60m -parallel $(PARALLEL) -run '$(DECISIVE)' ./extender ./chart)
	export E2E_KUBERNETES=$(OLDER); \
	$(call go-test,older-campaigns,e2e/campaigns,-count=1 -timeout 60m -run '$(DECISIVE)' ./gangfaults)

.PHONY: test-matrix
test-matrix: | $(RESULTS) ## Run all tests against a real control plane, including the tests of the chart, with each release of Kubernetes
	cd e2e && go test -count=1 -timeout 120m -parallel $(PARALLEL) ./...
	cd e2e && go test -count=1 -timeout 60m $(WITH_OLDER) ./conformance
	cd e2e && E2E_KUBERNETES=$(OLDER) go test -count=1 -timeout 120m -parallel $(PARALLEL) $$(go list ./... | grep -v /e2e/conformance$$)
	cd e2e/campaigns && go test -count=1 -timeout 120m ./... && E2E_KUBERNETES=$(OLDER) go test -count=1 -timeout 120m ./...

.PHONY: conformance
conformance: ## Hold verdicts, scores and preemption against kube-scheduler's, and remembered verdicts against fresh ones (KUBERNETES=1.36 for that release; the long run: CONFORMANCE_CASES=1000000 STALE_CHECKS=10000000)
	cd e2e && go test $(if $(filter $(OLDER),$(KUBERNETES)),$(WITH_OLDER)) ./conformance -count=1 -v -timeout 3h
	$(if $(RACE),cd e2e && go test -race ./conformance -count=1 -v -timeout 3h -run OthersAsk,@echo "$(NO_RACE)")

.PHONY: campaign
campaign: ## Look for what nomination breaks while pods, nodes and muster come and go (SEEDS, SEED for one, LANES, CAMPAIGN_LENGTH, CAMPAIGN_NODES)
	cd e2e/campaigns && SEEDS=$(SEEDS) SEED=$(SEED) LANES=$(LANES) go run ./cmd/campaign

.PHONY: fuzz
fuzz: ## Look for input that breaks muster or makes it take much (FUZZ_TIME=10m in all, FUZZ for the targets that match)
	cd e2e/campaigns && go run ./cmd/fuzz --time $(or $(FUZZ_TIME),10m) '$(FUZZ)'

.PHONY: faults-gang
faults-gang: ## Look for what breaks gangs while processes die, calls fail and objects change (SEEDS, SEED for one, LANES, KIND=extender, devices, native, topology, booking or plain)
	cd e2e/campaigns && SEEDS=$(SEEDS) SEED=$(SEED) LANES=$(LANES) KIND=$(KIND) go run ./cmd/gangfaults

.PHONY: mutants
mutants: ## Break muster on purpose, in one place at a time, and see who notices (CAPABILITY=verdicts, load, gang, operators, people, topology, backfill, nomination, rescheduler or explanations; MUTANTS for a regexp of names, TIER=short or long, SEEDS)
	cd e2e/campaigns && go run ./cmd/mutants -run '$(MUTANTS)' $(if $(TIER),-tier $(TIER)) $(if $(SEEDS),-seeds $(SEEDS)) $(CAPABILITY)

.PHONY: faults-lease
faults-lease: ## Look for two muster that lead at a time, while ways to the lease are cut, processes frozen and calls slow (SEEDS, SEED for one, LANES)
	cd e2e/campaigns && SEEDS=$(SEEDS) SEED=$(SEED) LANES=$(LANES) go run ./cmd/leasefaults

.PHONY: faults-rescheduler
faults-rescheduler: ## Look for what breaks rescheduling while processes die, calls fail, objects change and others want the room (SEEDS, SEED for one, LANES)
	cd e2e/campaigns && SEEDS=$(SEEDS) SEED=$(SEED) LANES=$(LANES) go run ./cmd/reschedulerfaults

.PHONY: soak
soak: ## Look for what grows while everything in a cluster comes and goes (SOAK=30m; heap profiles: build/results/soak)
	cd e2e/campaigns && go run ./cmd/soak -time=$(or $(SOAK),30m) -profiles=$(RESULTS)/soak

.PHONY: attack
attack: ## Attack muster as a caller, as a tenant, as its own account taken over and as a page in a browser (ATTACK for a regexp of names)
	cd e2e/campaigns && go run ./cmd/attack -run '$(ATTACK)'

$(RESULTS):
	@mkdir -p $@

##@ Measure

# Flags for the commands that have some: what each measures, and how much, its --help says.
BENCH_FLAGS ?=

.PHONY: bench-verbs
bench-verbs: ## Measure filter and prioritize against an empty extender (BENCH_BEFORE=PATH: and against another build of muster)
	cd e2e/bench && BENCH_BEFORE=$(abspath $(BENCH_BEFORE)) go run ./cmd/benchverbs $(BENCH_FLAGS)

.PHONY: bench-predicates
bench-predicates: ## Measure what remembered verdicts save
	cd e2e/bench && go run ./cmd/benchpredicates $(BENCH_FLAGS)

.PHONY: bench-devices
bench-devices: ## Measure what devices cost: a verdict, what is remembered, the plan of a gang of 512, and a gang of 64 against single pods with stock
	cd e2e/bench && go run ./cmd/benchdevices $(BENCH_FLAGS)

.PHONY: bench-load-core
bench-load-core: ## Measure what LoadAware costs: a node, and the filter while nodes are measured
	go test ./loadaware ./server/extender -run '^$$' -bench '^BenchmarkLoad' -benchtime 1x -v | grep -E '^(figure|FAIL|---)'

.PHONY: bench-profiles
bench-profiles: ## Measure what 50 profiles cost a call that one does not
	go test ./server/extender -run '^$$' -bench '^BenchmarkProfileLookup$$' -benchtime 1x -v | grep -E '^(figure|FAIL|---)'

.PHONY: bench-growth
bench-growth: ## Measure what 50,000 nodes cost that 5,000 do not, in the process
	go test ./server/extender -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 30m | grep -E '^(figure|FAIL|---)'

.PHONY: bench-placement
bench-placement: ## Measure what it costs to plan places for many pods, and pods/s with nominations
	go test ./placement -run '^$$' -bench . -benchtime $(or $(BENCH_TIMES),9x)
	TREES=$(or $(TREES),2000) go test ./gang -run '^TestTreesThatFitAreStarted$$' -count=1 -v | grep -E '^(FAIL|---)|figure'
	cd e2e/bench && go run ./cmd/benchcluster -placement

.PHONY: bench-cluster
bench-cluster: ## Measure pods/s of a stock scheduler without and with muster, and how good the nodes are that are chosen of a sample
	cd e2e/bench && go run ./cmd/benchcluster
	cd e2e && SAMPLED_CLUSTERS=$(or $(SAMPLED_CLUSTERS),4) SAMPLED_NODES=$(or $(SAMPLED_NODES),5000) SAMPLED_PODS=$(or $(SAMPLED_PODS),40) CONFORMANCE_SEED=1 go test ./conformance -run OfFewNodes -count=1 -v | grep -E '^(figure|FAIL|---)|rate'

.PHONY: bench-affinity
bench-affinity: ## Measure the same with pods that have anti-affinity and topology spread
	cd e2e/bench && go run ./cmd/benchcluster -affinity

.PHONY: bench-perf
bench-perf: ## Measure the workloads of kube-scheduler's own scheduler_perf with muster and without (BENCH_NODES, BENCH_ROUNDS, BENCH_PODS, PERF_WORKLOADS, PERF_WAYS)
	cd e2e/bench && go run ./cmd/benchperf

.PHONY: bench-ahead
bench-ahead: ## Measure pods/s beside a muster that the scheduler does not know (BENCH_NODES, BENCH_PODS, BENCH_ROUNDS)
	cd e2e/bench && BENCH_SIZES=$(BENCH_NODES) go run ./cmd/benchcluster -ahead

.PHONY: bench-gang
bench-gang: ## Measure how gangs start with muster, with native gang scheduling and without any (BENCH_ROUNDS, BENCH_CASES, BENCH_CONTENDERS, BENCH_WAIT, BENCH_SCALE, BENCH_BEFORE)
	cd e2e/bench && BENCH_BEFORE=$(abspath $(BENCH_BEFORE)) go run ./cmd/benchgang

.PHONY: bench-failover
bench-failover: ## Measure how soon another kube-scheduler keeps room that is reserved, and how many reservations are lost (BENCH_FAILOVERS=100)
	cd e2e/bench && BENCH_FAILOVERS=$(BENCH_FAILOVERS) go run ./cmd/benchfailover

.PHONY: bench-pairs
bench-pairs: ## Measure for how long no pod is bound when a kube-scheduler, the muster beside it, or both are gone (BENCH_KILLS=50)
	cd e2e/bench && go run ./cmd/benchpairs $(BENCH_FLAGS)

.PHONY: bench-memory
bench-memory: ## Measure muster's memory, and how soon it is ready, against kube-scheduler's at 150,000 pods (BENCH_SIZES=5000,15000, BENCH_ROUNDS)
	cd e2e/bench && go run ./cmd/benchmemory $(BENCH_FLAGS)

.PHONY: bench-margin
bench-margin: ## Measure how long kube-scheduler binds to nodes after it could know that their room is kept (BENCH_TRIALS=10000, BENCH_NODES=500)
	cd e2e/bench && BENCH_TRIALS=$(BENCH_TRIALS) BENCH_NODES=$(BENCH_NODES) go run ./cmd/benchmargin

.PHONY: bench-slow-gang
bench-slow-gang: ## Start a gang of 1,000 while the API server is slow to answer and one core is busy
	cd e2e/bench && go run ./cmd/slowgang $(BENCH_FLAGS)

.PHONY: bench-rescheduler
bench-rescheduler: ## Hold plans of the rescheduler against an exact solver (cbc, if installed), and measure planning (DEMO_DATA=DIR)
	cd e2e/bench && go run ./cmd/benchrescheduler $(BENCH_FLAGS)

.PHONY: bench-topology
bench-topology: ## Hold places of gangs near each other against an exact solver (cbc, if installed) and the rules of others, and measure how long they take (DEMO_DATA=DIR)
	cd e2e/bench && go run ./cmd/benchtopology $(BENCH_FLAGS)

.PHONY: bench-backfill
bench-backfill: ## Replay jobs in simulated time with room in time, without it, and by the rules of batch systems (DEMO_DATA=DIR, BACKFILL_HOURS=24, BACKFILL_SEEDS=3)
	cd e2e/bench && BACKFILL_HOURS=$${BACKFILL_HOURS:-24} go test ./jobs -run '^TestFigures$$' -count=1 -timeout 2h -v

.PHONY: bench-auto
bench-auto: ## Have the rescheduler in mode Auto consolidate 500 nodes, and live a day beside a stand-in for an autoscaler (BENCH_PARTS, BENCH_DAY)
	cd e2e/bench && go run ./cmd/benchauto $(if $(BENCH_PARTS),-parts $(BENCH_PARTS)) $(if $(BENCH_DAY),-day $(BENCH_DAY)) $(BENCH_FLAGS)

.PHONY: bench-load
bench-load: ## Replay measured usage in simulated time, with muster and other rules (LOAD_TRACES=FILE, LOAD_SEEDS)
	cd e2e/bench && go run ./cmd/benchload

.PHONY: openb
openb: ## Place the openb cluster's pods with and without muster, as they are and with no two alike (DEMO_DATA=DIR, OPENB_ROUNDS, OPENB_TRACES=trace or distinct)
	cd e2e/bench && go run ./cmd/openb
