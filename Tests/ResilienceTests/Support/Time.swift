// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Resilience

/// Some point in time; the tests count from here.
private let start = ContinuousClock.now

/// So long after the start.
func at(_ span: Duration) -> Instant { start + span }

/// The ends of time, and beyond what any clock will show.
let extremeInstants = [at(.seconds(Int64.min)), at(.seconds(-1)), at(.zero), at(.seconds(Int64.max))]

extension Outcome {
    static let good = Outcome.success(took: .milliseconds(200))
    static let slow = Outcome.success(took: .seconds(6))
    static let soft = Outcome.failure(.soft, took: .milliseconds(200))
    static let hard = Outcome.failure(.hard, took: .milliseconds(200))

    static let all: [Outcome] = [.good, .slow, .soft, .hard, .throttled, .neutral]
}
