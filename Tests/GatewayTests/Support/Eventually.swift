// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// Waits until a condition is true; an issue after a minute. It sleeps between looks: `Task.yield` in a loop would take
/// a core from the tests beside it.
func eventually(
    isolation: isolated (any Actor)? = #isolation, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async -> Bool
) async {
    let end = ContinuousClock.now + .seconds(60)
    while await !condition() {
        guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil else {
            Issue.record("the condition did not become true", sourceLocation: sourceLocation)
            return
        }
    }
}
