// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import NIOCore
package import Settings
internal import Synchronization

/// The memory that request bodies may take in this process, all connections together.
///
/// Bytes are reserved as they arrive, not as they are announced: otherwise a few idle connections with a large
/// `Content-Length` could use everything up.
package final class BodyBudget: Sendable {
    /// The most bytes that may be reserved at one time.
    package let capacity: Int
    private let reservedBytes = Mutex(0)

    /// A budget of so many bytes.
    package init(_ capacity: ByteCount) {
        self.capacity = capacity.bytes
    }

    /// The bytes that are reserved now.
    package var reserved: Int { reservedBytes.withLock { $0 } }

    /// Whether so many more bytes would fit now; reserves nothing.
    func hasRoom(for bytes: Int) -> Bool {
        bytes <= capacity - reserved
    }

    /// Bodies up to this size may use all of the budget; larger ones leave an eighth of it to them, so that a few
    /// large bodies that stall keep nobody's ordinary receipt out.
    package static let ordinaryBodyBytes = 128 << 10

    /// Reserves so many bytes more of a body that has `total` with them; false, and nothing reserved, if they do not
    /// fit.
    func reserve(_ bytes: Int, ofBodyWith total: Int) -> Bool {
        reservedBytes.withLock { reserved in
            let usable = total <= Self.ordinaryBodyBytes ? capacity : capacity - capacity / 8
            guard bytes <= usable - reserved else { return false }
            reserved += bytes
            return true
        }
    }

    /// Gives bytes back.
    func release(_ bytes: Int) {
        reservedBytes.withLock { $0 -= bytes }
    }
}

/// The bytes of a budget that one request takes. They are given back with the last reference, so whatever holds the bytes
/// of a request holds this beside them.
package final class BodyReservation: MemoryReservation {
    private let budget: BodyBudget
    private let reservedBytes = Mutex(0)

    /// A reservation of nothing.
    init(from budget: BodyBudget) {
        self.budget = budget
    }

    deinit {
        budget.release(reservedBytes.withLock { $0 })
    }

    /// The bytes that are reserved now.
    package var bytes: Int { reservedBytes.withLock { $0 } }

    /// Reserves so many bytes more; false, and nothing reserved, if they do not fit.
    func grow(by bytes: Int) -> Bool {
        reservedBytes.withLock { reserved in
            guard budget.reserve(bytes, ofBodyWith: reserved + bytes) else { return false }
            reserved += bytes
            return true
        }
    }

    /// Gives so many bytes back.
    func shrink(by bytes: Int) {
        reservedBytes.withLock { reserved in
            budget.release(bytes)
            reserved -= bytes
        }
    }

    /// Reserves so many bytes from now on; false, and nothing changed, if they do not fit.
    package func resize(to bytes: Int) -> Bool {
        let difference = bytes - self.bytes
        if difference > 0 { return grow(by: difference) }
        shrink(by: -difference)
        return true
    }
}

/// The body of a request, with the memory that is reserved for it.
package struct ReservedBody: Sendable {
    /// The whole body.
    package let bytes: ByteBuffer
    /// The reservation; nil for a body without any bytes.
    package let reservation: BodyReservation?

    /// A body.
    init(_ bytes: ByteBuffer?, _ reservation: BodyReservation?) {
        self.bytes = bytes ?? ByteBuffer()
        self.reservation = reservation
    }
}
