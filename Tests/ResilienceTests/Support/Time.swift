// SPDX-License-Identifier: Apache-2.0

import Resilience

/// The tests' origin of time.
private let start = ContinuousClock.now

func at(_ span: Duration) -> Instant { start + span }

/// The extremes of time, beyond any real clock.
let extremeInstants = [at(.seconds(Int64.min)), at(.seconds(-1)), at(.zero), at(.seconds(Int64.max))]

extension Outcome {
    static let good = Outcome.success(took: .milliseconds(200))
    static let slow = Outcome.success(took: .seconds(6))
    static let soft = Outcome.failure(.soft, took: .milliseconds(200))
    static let hard = Outcome.failure(.hard, took: .milliseconds(200))

    static let all: [Outcome] = [.good, .slow, .soft, .hard, .throttled, .neutral]
}
