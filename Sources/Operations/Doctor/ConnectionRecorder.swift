// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Synchronization

/// Remembers how the first attempt to connect went, for each kind of connection.
final class ConnectionRecorder: RedisObserver {
    /// How an attempt ended.
    enum Outcome: Hashable, Sendable {
        case connected(after: Duration)
        case failed(RedisConnectionFault)
    }

    private let began = ContinuousClock.now
    private let outcomes = Mutex<[RedisConnectionRole: Outcome]>([:])

    /// A success counts for good; of failures the last one does.
    func observe(_ event: RedisEvent) {
        switch event {
        case .connected(let role): note(.connected(after: began.duration(to: .now)), role)
        case .connectFailed(let role, let fault): note(.failed(fault), role)
        default: break
        }
    }

    /// How it went; nil as long as nothing has come of it.
    subscript(role: RedisConnectionRole) -> Outcome? { outcomes.withLock { $0[role] } }

    private func note(_ outcome: Outcome, _ role: RedisConnectionRole) {
        outcomes.withLock { outcomes in
            if case .connected? = outcomes[role] { return }
            outcomes[role] = outcome
        }
    }
}
