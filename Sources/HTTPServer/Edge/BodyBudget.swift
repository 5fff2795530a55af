// SPDX-License-Identifier: Apache-2.0

package import Clients
package import NIOCore
internal import Synchronization

/// The memory that request bodies may take in this process, over all connections.
///
/// Bytes are reserved as they arrive, not as announced: otherwise a few idle connections with a large `Content-Length`
/// could use up the budget.
package final class BodyBudget: Sendable {
    package let capacity: Int
    private let usage = Mutex(Usage())

    fileprivate struct Usage {
        var reserved = 0
        /// The part of `reserved` for senders that are not identified, together and by source.
        var unidentified = 0
        var bySource: [SourceAddress?: Int] = [:]

        /// Returns the reason for which bytes do not fit; nil if they do. Unidentified senders share a quarter of the
        /// budget. One source may have an eighth of that share, and large bodies a half.
        func refusal(
            of bytes: Int, ofBodyWith total: Int, from sender: BodySender, _ capacity: Int
        ) -> EdgeRefusal? {
            let isLarge = total > BodyBudget.ordinaryBodyBytes
            if case .unidentified(let source) = sender {
                let share = capacity / 4, shareOfSource = max(share / 8, Self.leastShareOfSource)
                if max(bytes, total) > shareOfSource { return .bodyBeyondShare }
                if bytes > shareOfSource - bySource[source, default: 0] { return .tooManyOfAddress }
                if bytes > (isLarge ? share / 2 : share) - unidentified { return .overloaded }
            }
            return bytes > (isLarge ? capacity - capacity / 8 : capacity) - reserved ? .overloaded : nil
        }

        /// One body of the largest usual size, in a small budget.
        private static let leastShareOfSource = 1 << 20

        mutating func add(_ bytes: Int, from sender: BodySender) {
            reserved += bytes
            guard case .unidentified(let source) = sender else { return }
            unidentified += bytes
            let held = bySource[source, default: 0] + bytes
            bySource[source] = held > 0 ? held : nil
        }
    }

    package init(_ capacity: ByteCount) {
        self.capacity = capacity.bytes
    }

    package var reserved: Int { usage.withLock { $0.reserved } }

    /// Returns the reason for which this many more bytes would not fit now; nil if they would.
    func refusal(of bytes: Int, from sender: BodySender = .identified) -> EdgeRefusal? {
        usage.withLock { $0.refusal(of: bytes, ofBodyWith: 0, from: sender, capacity) }
    }

    /// The size up to which a body may use the whole budget. Larger bodies leave an eighth of the budget free, so that
    /// a few stalled large bodies do not block ordinary receipts.
    package static let ordinaryBodyBytes = 128 << 10

    /// Reserves bytes for a body that then has `total`. If they do not fit, reserves nothing and returns the reason.
    func reserve(_ bytes: Int, ofBodyWith total: Int, from sender: BodySender = .identified) -> EdgeRefusal? {
        usage.withLock { usage in
            if let refusal = usage.refusal(of: bytes, ofBodyWith: total, from: sender, capacity) { return refusal }
            usage.add(bytes, from: sender)
            return nil
        }
    }

    func release(_ bytes: Int, from sender: BodySender = .identified) {
        usage.withLock { $0.add(-bytes, from: sender) }
    }

    fileprivate func identify(_ bytes: Int, from sender: BodySender) {
        usage.withLock { usage in
            usage.add(-bytes, from: sender)
            usage.add(bytes, from: .identified)
        }
    }
}

/// The sender of a body, as far as it is known before the body is read.
enum BodySender: Hashable, Sendable {
    case identified
    /// Anyone: the credentials are in the body, or are a key in an app.
    case unidentified(SourceAddress?)
}

/// The part of a budget that one request holds. It is released with the last reference, so everything that holds bytes
/// of a request also holds this.
package final class BodyReservation: Sendable {
    private let budget: BodyBudget
    private let state: Mutex<State>

    private struct State {
        var bytes = 0
        var sender: BodySender
    }

    init(from budget: BodyBudget, for sender: BodySender = .identified) {
        self.budget = budget
        state = Mutex(State(sender: sender))
    }

    deinit {
        state.withLock { budget.release($0.bytes, from: $0.sender) }
    }

    package var bytes: Int { state.withLock { $0.bytes } }

    /// Counts the bytes for a client from now on.
    package func identify() {
        state.withLock { state in
            budget.identify(state.bytes, from: state.sender)
            state.sender = .identified
        }
    }

    /// Returns false, and reserves nothing, if the bytes do not fit.
    package func grow(by bytes: Int) -> Bool { reserve(bytes) == nil }

    /// Reserves more bytes. If they do not fit, reserves nothing and returns the reason.
    fileprivate func reserve(_ bytes: Int) -> EdgeRefusal? {
        state.withLock { state in
            let total = state.bytes + bytes
            if let refusal = budget.reserve(bytes, ofBodyWith: total, from: state.sender) { return refusal }
            state.bytes = total
            return nil
        }
    }

    package func shrink(by bytes: Int) {
        state.withLock { state in
            budget.release(bytes, from: state.sender)
            state.bytes -= bytes
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

/// A body with the memory that is reserved for it.
package struct ReservedBody: Sendable {
    package private(set) var bytes: ByteBuffer
    /// Nil until bytes arrive.
    package private(set) var reservation: BodyReservation?
    private var parts = 0

    init(_ bytes: ByteBuffer? = nil, _ reservation: BodyReservation? = nil) {
        self.bytes = bytes ?? ByteBuffer()
        self.reservation = reservation
    }

    /// Reserves bytes for a part. If they do not fit, reserves nothing and returns the reason.
    mutating func reserve(_ bytes: Int, from budget: BodyBudget, for sender: BodySender) -> EdgeRefusal? {
        let reservation = reservation ?? BodyReservation(from: budget, for: sender)
        self.reservation = reservation
        return reservation.reserve(bytes)
    }

    /// Adds a part. The buffer doubles as bytes arrive. Announced bytes are not reserved, because an announcement costs
    /// the sender nothing.
    mutating func append(_ part: ByteBuffer) {
        parts += 1
        if parts == 1 { bytes = part } else { bytes.writeImmutableBuffer(part) }
    }

    /// True if the body arrives in so many small parts that handling them costs too much.
    var isTooFragmented: Bool { parts > 1024 + bytes.readableBytes / 256 }
}
