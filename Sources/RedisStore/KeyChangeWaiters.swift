// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Synchronization

/// Who in this node waits until a key in the shared store changes.
final class KeyChangeWaiters: Sendable {
    /// By key, and within it by who waits: no more than there are flights.
    private let timeouts = Timeouts()
    private let waiting = Mutex<[String: [ObjectIdentifier: Waiter<Bool>]]>([:])

    /// Returns when the key is said to have changed, and after `span` at the latest.
    func wait(for key: String, upTo span: Duration) async {
        let waiter = Waiter<Bool>()
        waiting.withLock { $0[key, default: [:]][ObjectIdentifier(waiter)] = waiter }
        _ = await waiter.value(waitLimit: span, timeouts)
        waiting.withLock { waiting in
            waiting[key]?[ObjectIdentifier(waiter)] = nil
            if waiting[key]?.isEmpty == true { waiting[key] = nil }
        }
    }

    /// These keys changed.
    func wake(_ keys: [[UInt8]]) {
        let awake = waiting.withLock { waiting in
            waiting.isEmpty
                ? [] : keys.compactMap { waiting.removeValue(forKey: String(decoding: $0, as: UTF8.self)) }
        }
        for waiter in awake.flatMap(\.values) { waiter.end(with: true) }
    }

    /// Any key may have changed.
    func wakeAll() {
        let awake = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values
        }
        for waiter in awake.flatMap(\.values) { waiter.end(with: true) }
    }

    /// How many keys are waited for.
    var count: Int { waiting.withLock { $0.count } }
}
