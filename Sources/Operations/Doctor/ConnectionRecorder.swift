// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Synchronization

/// Records the outcome of connecting for each connection role.
final class ConnectionRecorder: RedisObserver {
    enum Outcome: Hashable, Sendable {
        case connected(after: Duration)
        case failed(RedisConnectionFault)
    }

    private let began = ContinuousClock.now
    private let outcomes = Mutex<[RedisConnectionRole: Outcome]>([:])

    /// Records an event. A success is final; of failures the last one counts.
    func observe(_ event: RedisEvent) {
        switch event {
        case .connected(let role): note(.connected(after: began.duration(to: .now)), role)
        case .connectFailed(let role, let fault): note(.failed(fault), role)
        default: break
        }
    }

    /// The outcome for a role; nil while there is none.
    subscript(role: RedisConnectionRole) -> Outcome? { outcomes.withLock { $0[role] } }

    private func note(_ outcome: Outcome, _ role: RedisConnectionRole) {
        outcomes.withLock { outcomes in
            if case .connected? = outcomes[role] { return }
            outcomes[role] = outcome
        }
    }
}
