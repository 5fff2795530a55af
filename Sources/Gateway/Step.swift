// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The next step of a piece of work: it has a value, it computes, or it waits.
///
/// Work that is written in steps runs wherever its caller chooses: a known value costs no task, computing can take turns
/// with other work of an event loop, and only a step that waits needs a task.
public enum Step<Value: Sendable, Failure: Error>: Sendable {
    /// The work is done.
    case done(Value)
    /// The next step takes computing. It never suspends.
    case compute(@Sendable () throws(Failure) -> Step)
    /// The next step waits for the network, a timer or other work.
    case wait(@Sendable () async throws(Failure) -> Step)

    /// Whether the next step takes computing.
    public var isComputing: Bool {
        if case .compute = self { true } else { false }
    }

    /// Returns the step after all computing.
    public func computed() throws(Failure) -> Step {
        var step = self
        while case .compute(let next) = step { step = try next() }
        return step
    }

    /// Returns the step after this one, computing or waiting for as long as it takes.
    public func next() async throws(Failure) -> Step {
        switch self {
        case .done: self
        case .compute(let next): try next()
        case .wait(let next): try await next()
        }
    }

    /// Returns the value, computing and waiting for as long as it takes.
    public func value() async throws(Failure) -> Value {
        var step = self
        while true {
            if case .done(let value) = step { return value }
            step = try await step.next()
        }
    }

    /// Returns the same work with its value changed.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws(Failure) -> Other
    ) throws(Failure) -> Step<Other, Failure> {
        switch self {
        case .done(let value): .done(try transform(value))
        case .compute(let next): .compute { () throws(Failure) in try next().map(transform) }
        case .wait(let next): .wait { () async throws(Failure) in try await next().map(transform) }
        }
    }
}
