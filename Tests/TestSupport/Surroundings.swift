// SPDX-License-Identifier: Apache-2.0

public import Testing

/// The servers and connections that a test needs around it.
public protocol Surroundings: Sendable {
    /// The place of the surroundings while a test runs.
    static var local: TaskLocal<Self?> { get }
}

extension Surroundings {
    /// The surroundings that a trait of the current test has started.
    public static var current: Self {
        guard let current = local.get() else { preconditionFailure("no trait of this test starts \(Self.self)") }
        return current
    }
}

/// Starts surroundings before a test, and ends them after it.
public struct SurroundingsTrait: TestTrait, TestScoping {
    /// The whole of a test.
    public typealias Body = @concurrent @Sendable () async throws -> Void

    private let run: @Sendable (Body) async throws -> Void

    /// - Parameter with: runs a closure within new surroundings.
    public init<Value: Surroundings>(
        _ type: Value.Type, _ with: @escaping @Sendable (_ body: (Value) async throws -> Void) async throws -> Void
    ) {
        run = { test in
            try await with { value in try await Value.local.withValue(value) { try await test() } }
        }
    }

    /// Runs a test within its surroundings.
    public func provideScope(for test: Test, testCase: Test.Case?, performing function: Body) async throws {
        try await run(function)
    }
}
