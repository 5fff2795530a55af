// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Somebody waited in vain.
struct NeverHappened: Error {}

/// Waits until something is so.
func eventually(
    isolation: isolated (any Actor)? = #isolation, within limit: Duration = .seconds(60),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(5))
    }
}
