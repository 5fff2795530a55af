// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Waits until a condition holds. It is for states without an event, such as the states of other processes.
/// - Throws: an issue of the caller, if the condition does not hold after `Patience.forEvent`.
public func eventually(
    _ what: Comment = "the condition becomes true", isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + Patience.forEvent
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, what, sourceLocation: sourceLocation)
        // The interval of a poll: `Task.yield` in a loop would take a core from the tests beside it.
        try await Task.sleep(for: .milliseconds(2))
    }
}
