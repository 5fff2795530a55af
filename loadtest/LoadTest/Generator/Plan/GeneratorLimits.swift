// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How much of the generator a server may take, and what is called late.
struct GeneratorLimits: Hashable, Sendable {
    /// Requests of one worker that wait for a connection; beyond it they fail.
    var maximumWaiting = 200_000
    /// Requests that are taken up at once; then answers are read.
    var maximumBatch = 1000
    /// A request that its worker takes up later than this after it was due counts as late.
    var late = Duration.milliseconds(5)
    /// The share of late requests up to which a schedule was kept.
    var maximumLateShare = 0.01
    /// Work is taken up together rather than sleep for less.
    var shortestSleep = Duration.microseconds(20)
    /// More are tolerated if the 99th percentile of the lateness is at most this share of that of the response.
    var maximumLagShare = 0.1
    /// Workers that are busy for longer than this share of the time have nothing left to give.
    var maximumBusyShare = 0.95
    /// Who has answers to less than this share of the requests, or took so much longer, is behind.
    var minimumDoneShare = 0.98
    /// Until the first connections stand.
    var connectTimeout = Duration.seconds(5)
    /// Between attempts to connect again: this at first, twice as much each time.
    var firstReconnectPause = Duration.milliseconds(10)
    /// The longest of those pauses.
    var longestReconnectPause = Duration.seconds(1)
    var answer = AnswerLimits()
}

/// How much one answer may be.
struct AnswerLimits: Hashable, Sendable {
    /// Of the status line and all header fields, and again of the trailer.
    var maximumHeadBytes = 32 << 10
    /// Of one line.
    var maximumLineBytes = 8 << 10
    /// Of the body, chunks counted without their sizes.
    var maximumBodyBytes = 64 << 20
    /// Answers of the class 1xx before the one that counts.
    var maximumInterimAnswers = 8
    /// The beginning of a body, where a gateway says how it came to its answer.
    var openingBytes = 192
}
