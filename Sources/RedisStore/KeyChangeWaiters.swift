// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Synchronization

/// The tasks of this node that wait for a change of a Redis key.
final class KeyChangeWaiters: Sendable {
    private let timeouts = Timeouts()
    /// By key and waiter; at most one waiter per flight.
    private let waiting = Mutex<[String: [ObjectIdentifier: Waiter<Bool>]]>([:])

    /// Returns when the key's change is announced, or after `span`.
    func wait(for key: String, upTo span: Duration) async {
        let waiter = Waiter<Bool>()
        waiting.withLock { $0[key, default: [:]][ObjectIdentifier(waiter)] = waiter }
        _ = await waiter.value(waitLimit: span, timeouts)
        waiting.withLock { waiting in
            waiting[key]?[ObjectIdentifier(waiter)] = nil
            if waiting[key]?.isEmpty == true { waiting[key] = nil }
        }
    }

    /// Resumes the waiters of these keys.
    func wake(_ keys: [[UInt8]]) {
        let awake = waiting.withLock { waiting in
            waiting.isEmpty
                ? [] : keys.compactMap { waiting.removeValue(forKey: String(decoding: $0, as: UTF8.self)) }
        }
        for waiter in awake.flatMap(\.values) { waiter.end(with: true) }
    }

    /// Resumes all waiters, because any key may have changed.
    func wakeAll() {
        let awake = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values
        }
        for waiter in awake.flatMap(\.values) { waiter.end(with: true) }
    }

    /// The number of keys with waiters.
    var count: Int { waiting.withLock { $0.count } }
}
