// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import NIOCore
package import Settings
internal import Synchronization

/// The memory that request bodies may take in this process, over all connections.
///
/// Bytes are reserved as they arrive, not as announced: otherwise a few idle connections with a large `Content-Length`
/// could use up the budget.
package final class BodyBudget: Sendable {
    package let capacity: Int
    private let usage = Mutex(Usage())

    private struct Usage {
        var reserved = 0
        /// The part of `reserved` for clients that are not identified.
        var unidentified = 0
    }

    package init(_ capacity: ByteCount) {
        self.capacity = capacity.bytes
    }

    package var reserved: Int { usage.withLock { $0.reserved } }

    /// The part of the budget for bodies that have the client's credentials: anyone may send those.
    private var capacityForUnidentified: Int { capacity / 4 }

    /// Returns true if this many more bytes would fit now. Reserves nothing.
    func hasRoom(for bytes: Int, isIdentified: Bool = true) -> Bool {
        let usage = usage.withLock { $0 }
        return bytes <= capacity - usage.reserved
            && (isIdentified || bytes <= capacityForUnidentified - usage.unidentified)
    }

    /// The size up to which a body may use the whole budget. Larger ones leave an eighth of it free, so that a few
    /// stalled large bodies do not block ordinary receipts.
    package static let ordinaryBodyBytes = 128 << 10

    /// Reserves bytes for a body that then has `total`. Returns false, and reserves nothing, if they do not fit.
    func reserve(_ bytes: Int, ofBodyWith total: Int, isIdentified: Bool = true) -> Bool {
        usage.withLock { usage in
            let usable = total <= Self.ordinaryBodyBytes ? capacity : capacity - capacity / 8
            guard bytes <= usable - usage.reserved,
                isIdentified || bytes <= capacityForUnidentified - usage.unidentified
            else { return false }
            usage.reserved += bytes
            if !isIdentified { usage.unidentified += bytes }
            return true
        }
    }

    func release(_ bytes: Int, isIdentified: Bool = true) {
        usage.withLock { usage in
            usage.reserved -= bytes
            if !isIdentified { usage.unidentified -= bytes }
        }
    }
}

/// The part of a budget that one request holds. It is released with the last reference, so everything that holds bytes
/// of a request also holds this.
package final class BodyReservation: MemoryReservation {
    private let budget: BodyBudget
    private let isIdentified: Bool
    private let reservedBytes = Mutex(0)

    /// - Parameter isIdentified: false if anyone could have sent the body.
    init(from budget: BodyBudget, isIdentified: Bool = true) {
        self.budget = budget
        self.isIdentified = isIdentified
    }

    deinit {
        budget.release(reservedBytes.withLock { $0 }, isIdentified: isIdentified)
    }

    package var bytes: Int { reservedBytes.withLock { $0 } }

    /// Reserves more bytes. Returns false, and reserves nothing, if they do not fit.
    func grow(by bytes: Int) -> Bool {
        reservedBytes.withLock { reserved in
            guard budget.reserve(bytes, ofBodyWith: reserved + bytes, isIdentified: isIdentified) else { return false }
            reserved += bytes
            return true
        }
    }

    func shrink(by bytes: Int) {
        reservedBytes.withLock { reserved in
            budget.release(bytes, isIdentified: isIdentified)
            reserved -= bytes
        }
    }

    /// Sets the reservation to this size. Returns false, and changes nothing, if it does not fit.
    package func resize(to bytes: Int) -> Bool {
        let difference = bytes - self.bytes
        if difference > 0 { return grow(by: difference) }
        shrink(by: -difference)
        return true
    }
}

package struct ReservedBody: Sendable {
    package let bytes: ByteBuffer
    package let reservation: BodyReservation?

    init(_ bytes: ByteBuffer?, _ reservation: BodyReservation?) {
        self.bytes = bytes ?? ByteBuffer()
        self.reservation = reservation
    }
}
