// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway

extension Step {
    /// Returns the same work, followed by work that depends on its value.
    func then<Other>(
        _ next: @escaping @Sendable (Value) throws(Failure) -> Step<Other, Failure>
    ) throws(Failure) -> Step<Other, Failure> {
        switch self {
        case .done(let value): try next(value)
        case .compute(let step): .compute { () throws(Failure) in try step().then(next) }
        case .wait(let step): .wait { () async throws(Failure) in try await step().then(next) }
        }
    }
}
