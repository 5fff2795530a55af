// SPDX-License-Identifier: Apache-2.0

/// The next step of a piece of work: a value, a computation, or a wait.
///
/// The caller chooses where the steps run. A known value needs no task, computations can alternate with other work of
/// an event loop, and only a waiting step needs a task.
///
/// Public and inlinable, so that the code is specialised for its values: `package` functions never are in other targets
/// (Swift 6.3).
public enum Step<Value: Sendable, Failure: Error>: Sendable {
    /// The work is done.
    case done(Value)
    /// The next step computes and never suspends.
    case compute(@Sendable () throws(Failure) -> Step)
    /// The next step waits for the network, a timer or other work.
    case wait(@Sendable () async throws(Failure) -> Step)

    /// True if the next step computes.
    @inlinable public var isComputing: Bool {
        if case .compute = self { true } else { false }
    }

    /// Computes up to the first step that is done or waits.
    @inlinable public func computed() throws(Failure) -> Step {
        var step = self
        while case .compute(let next) = step { step = try next() }
        return step
    }

    /// Takes the next step.
    @inlinable public func next() async throws(Failure) -> Step {
        switch self {
        case .done: self
        case .compute(let next): try next()
        case .wait(let next): try await next()
        }
    }

    /// Takes all steps, and returns the value.
    @inlinable public func value() async throws(Failure) -> Value {
        var step = self
        while true {
            if case .done(let value) = step { return value }
            step = try await step.next()
        }
    }

    /// Returns the same work with its value transformed.
    @inlinable public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws(Failure) -> Other
    ) throws(Failure) -> Step<Other, Failure> {
        switch self {
        case .done(let value): .done(try transform(value))
        case .compute(let next): .compute { () throws(Failure) in try next().map(transform) }
        case .wait(let next): .wait { () async throws(Failure) in try await next().map(transform) }
        }
    }

    /// Returns the same work, followed by work that depends on its value.
    @inlinable public func then<Other: Sendable>(
        _ next: @escaping @Sendable (Value) throws(Failure) -> Step<Other, Failure>
    ) throws(Failure) -> Step<Other, Failure> {
        switch self {
        case .done(let value): try next(value)
        case .compute(let step): .compute { () throws(Failure) in try step().then(next) }
        case .wait(let step): .wait { () async throws(Failure) in try await step().then(next) }
        }
    }
}
