// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the number of concurrent requests.
final class RequestSlots: Sendable {
    private let taken = Mutex(0)
    private let maximum: Int

    init(maximum: Int) {
        self.maximum = maximum
    }

    var takenCount: Int { taken.withLock(\.self) }

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

/// The slot of one request. It lives as long as its libcurl handle, so that a leaked handle shows in the count.
final class RequestSlot: Sendable {
    private let slots: RequestSlots

    fileprivate init(of slots: RequestSlots) {
        self.slots = slots
    }

    deinit {
        slots.giveBack()
    }
}
