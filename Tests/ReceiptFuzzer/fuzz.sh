#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes what reads bytes from outside for a number of seconds (default 600), then makes the corpus in Tests/FuzzCorpus as
# small as it can be without losing a branch. An input that breaks a promise stops the run and is kept beside the build:
# copy it into Tests/FuzzCorpus as `regression-…`, where `swift test` replays it for ever, and mend what it found.
#
# usage: [TARGET=name] Tests/ReceiptFuzzer/fuzz.sh [seconds] [further libFuzzer options]
#
# TARGET is one case of FuzzTarget; without it each input chooses its own.

set -eu
cd "$(dirname "$0")/../.."

seconds=${1:-600}
[ $# -eq 0 ] || shift

scratch=.build-fuzz
corpus=Tests/FuzzCorpus
found=$scratch/found
seeds=$scratch/seeds
minimal=$scratch/minimal
fuzzer=$scratch/release/receipt-fuzzer
# Longer inputs only slow the search down: every form of length and every kind of attribute fits.
limits='-max_len=4096 -timeout=30 -rss_limit_mb=1024'

# Swift's own crash handler would hide a crash from libFuzzer; OpenSSL keeps what it has loaded.
export SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0

RECEIPT_FUZZING=1 swift build -c release --product receipt-fuzzer --scratch-path $scratch

mkdir -p $found $seeds
RECEIPT_FUZZ_SEEDS=$seeds $fuzzer -runs=0 >/dev/null 2>&1

# shellcheck disable=SC2086 # Options are words of their own.
env ${TARGET:+RECEIPT_FUZZ_TARGET="$TARGET"} \
    $fuzzer $limits -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix=$scratch/ "$@" $found $seeds $corpus

rm -rf $minimal
mkdir -p $minimal
# shellcheck disable=SC2086
$fuzzer $limits -use_counters=0 -set_cover_merge=1 $minimal $corpus $seeds $found
find $corpus -type f ! -name 'regression-*' ! -name '.*' -delete
cp $minimal/* $corpus/
echo "$(find $corpus -type f | wc -l) inputs, $(cat $corpus/* | wc -c) bytes in $corpus"
