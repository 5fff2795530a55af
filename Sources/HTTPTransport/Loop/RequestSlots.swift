// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Admits so many requests at a time and no more.
final class RequestSlots: Sendable {
    private let taken = Mutex(0)
    private let maximum: Int

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// How many slots are taken.
    var takenCount: Int { taken.withLock(\.self) }

    /// A slot; nil if all are taken.
    func take() -> RequestSlot? {
        let isFree = taken.withLock { taken in
            guard taken < maximum else { return false }
            taken += 1
            return true
        }
        return isFree ? RequestSlot(of: self) : nil
    }

    fileprivate func giveBack() {
        taken.withLock { $0 -= 1 }
    }
}

/// The right to be in flight. It lives as long as the libcurl handle it was used for, so that a handle that is never
/// freed can be seen in the count.
final class RequestSlot: Sendable {
    private let slots: RequestSlots

    fileprivate init(of slots: RequestSlots) {
        self.slots = slots
    }

    deinit {
        slots.giveBack()
    }
}
