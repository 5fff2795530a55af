// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The condition did not become true in time.
struct NeverHappened: Error {}

/// Waits until a condition is true.
func eventually(
    isolation: isolated (any Actor)? = #isolation, within limit: Duration = .seconds(60),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened() }
        // The interval of a poll: most conditions are states of real servers.
        try await Task.sleep(for: .milliseconds(5))
    }
}
