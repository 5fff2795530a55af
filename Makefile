# SPDX-License-Identifier: Apache-2.0

# `make run` and `make test` are all a newcomer needs; `make help` lists the rest.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# A target imports only what its arrow in Package.swift points to.
FLAGS := --explicit-target-dependency-import-check error $(BUILD_FLAGS)
# The packages at the tested versions, unless there are only those at hand.
PIN = $(if $(SKIP_DEPS),true,.ci/pin)
# Both programs with Swift's libraries linked in, as in the image: a local verification takes 0.85 of the CPU.
define RELEASE
@$(PIN)
	swift build -c release --static-swift-stdlib $(FLAGS) --product receipt-gateway
	swift build -c release --static-swift-stdlib $(FLAGS) --product receipt-loadtest
endef
define DEBUG
@$(PIN)
	swift build $(FLAGS) --product receipt-gateway
	swift build $(FLAGS) --product receipt-loadtest
endef
SOURCES := Package.swift Sources Tests loadtest docs/clients/swift

# The targets with random tests, but for those of whole gateways.
RANDOM_TESTS := ^(AppStore|AppleSimulator|Events|Gateway|Jobs|LoadTest|Receipts|Redis|Resilience|Webhooks)Tests\.

.PHONY: help run fleet build test faults seeds check lint format commands chart man docs pictures guides api mixed soak tsan helm live bench fuzz dist \
	distcheck deps fleet-deps test-deps api-deps bench-deps dist-deps clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

run: deps ## Build, start a gateway on port 8080 with sample receipts, and show one being verified
	@echo "run: building for release; the first time this takes five to ten minutes on two cores"
	$(RELEASE)
	@loadtest/quickstart.sh

fleet: fleet-deps ## Build, start two gateways with Redis, HAProxy, Prometheus and a simulated Apple, until ^C
	$(RELEASE)
	@loadtest/fleet.sh

build: deps ## Build both programs for release
	$(RELEASE)

test: test-deps lint ## Build and run the tests, or those of FILTER=regex; the last line says how many passed
	@$(PIN)
	swift build --build-tests $(FLAGS)
	@.ci/test $(or $(PARTS),tests) $(if $(FILTER),--filter "$$FILTER")

faults: PARTS := faults
faults: test ## Break whole fleets, and put load on them: long tests beside `make test`

seeds: test-deps ## Run the targets with random tests RUNS times (default 10), each with a new seed
	@$(PIN)
	swift build --build-tests $(FLAGS)
	@for run in $$(seq $(or $(RUNS),10)); do \
		TEST_SEED=$$(shuf -i 1-4294967295 -n 1) .ci/test --filter '$(RANDOM_TESTS)' || exit 1; \
	done

check: PARTS := tests faults
check: test docs api mixed tsan live distcheck ## Everything: lint, tests, documentation, API, two versions, pictures, sanitizer, alerts, packages
	@.ci/docs .build/debug/receipt-gateway .build/debug/receipt-loadtest pictures

lint: ## Check the format of all Swift files
	swift format lint --strict --recursive $(SOURCES)

format: ## Format all Swift files in place
	swift format --in-place --recursive $(SOURCES)

commands: ## Write docs/commands.md again from --help of both programs
	$(DEBUG)
	@.ci/commands .build/debug >.build/commands.md && mv .build/commands.md docs/commands.md

chart: ## Write the values in helm/receipt-gateway/README.md again from the comments of values.yaml
	@.ci/helm values

man: ## Write manual pages to .build/man: man -M .build/man receipt-gateway
	$(DEBUG)
	@.ci/man .build/debug .build/man

docs: ## Build the library's documentation; warnings are errors
	swift package --disable-sandbox generate-documentation --target Receipts --warnings-as-errors

pictures: test-deps ## Take the pictures of the status page in docs/images again
	$(RELEASE)
	@PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=helm/test python3 docs/test/pictures.py \
		.build/release/receipt-gateway .build/release/receipt-loadtest

guides: test-deps ## Run every command of the documentation, and the example clients
	$(DEBUG)
	@.ci/docs .build/debug/receipt-gateway .build/debug/receipt-loadtest

api: api-deps ## Generate clients from docs/api.yaml and use them, and send a gateway random requests
	$(DEBUG)
	@.ci/api .build/debug/receipt-gateway .build/debug/receipt-loadtest

mixed: test-deps ## Share a Redis between this version and the one of MIXED_FROM=commit (default: the newest tag, else .ci/mixed)
	$(DEBUG)
	@MIXED_FROM=$(MIXED_FROM) .ci/mixed .build/debug/receipt-gateway .build/debug/receipt-loadtest

soak: test-deps ## Run a fleet for MINUTES (default 10) under mixed traffic and random faults, and check every answer (SEED=n repeats one)
	$(DEBUG)
	@.ci/soak .build/debug/receipt-gateway .build/debug/receipt-loadtest "$(MINUTES)" "$(SEED)"

tsan: test-deps ## Run all tests under the thread sanitizer
	swift build --build-tests $(FLAGS) --sanitize thread --scratch-path .build-tsan
	@TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions" \
		.ci/test --scratch-path .build-tsan

helm: test-deps ## Check the chart, alerts, dashboards and runbooks, without a cluster
	$(DEBUG)
	@.ci/helm .build/debug/receipt-gateway .build/debug/receipt-loadtest

live: test-deps ## Break a real fleet in every way an alert knows; takes six minutes
	$(DEBUG)
	@.ci/helm live .build/debug/receipt-gateway .build/debug/receipt-loadtest

bench: bench-deps ## Measure the gateway beside a bare handler, nginx and Varnish, then under each scenario (BENCH=options)
	$(RELEASE)
	.build/release/receipt-loadtest bench $(BENCH)
	.build/release/receipt-loadtest scenario loadtest/scenarios/load/*.yaml -o .bench/scenarios

fuzz: deps ## Fuzz the parsers for SECONDS (default 600), or one by TARGET=name; inputs join Tests/FuzzCorpus
	TARGET=$(TARGET) Tests/ReceiptFuzzer/fuzz.sh $(or $(SECONDS),600)

dist: dist-deps ## Build the tarball, Debian package and image of a release into .build/dist/out
	@.ci/dist/make

distcheck: dist ## Check and install what `make dist` made, and make it once more: the bytes must be equal
	@shellcheck .ci/pin .ci/image .ci/deps $$(grep -lsE '^#!.*/(ba)?sh$$' .ci/dist/* .ci/dist/debian/*.postinst)
	@.ci/dist/check

deps: ## Install the missing Debian packages
	@$(if $(SKIP_DEPS),true,.ci/deps)

fleet-deps:
	@$(if $(SKIP_DEPS),true,.ci/deps fleet)

test-deps:
	@$(if $(SKIP_DEPS),true,.ci/deps test)

api-deps:
	@$(if $(SKIP_DEPS),true,.ci/deps api)

dist-deps:
	@$(if $(SKIP_DEPS),true,.ci/deps dist)

bench-deps:
	@$(if $(SKIP_DEPS),true,.ci/deps bench)

clean: ## Remove everything that was built
	rm -rf .build .build-tsan .build-fuzz .build-helm .build-mixed .run
