// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import NIOCore

/// A request while it arrives: the header is complete, the body may not be.
struct IncomingRequest: Sendable {
    let header: RequestHeader
    let match: RouteMatch
    /// The client that sends it; nil without valid credentials.
    let client: Client?
    private(set) var body: ByteBuffer?
    /// The memory reserved for `body`; nil until bytes arrive.
    private(set) var reservation: BodyReservation?
    /// The time at which the header was complete.
    let arrival: NIODeadline

    /// The source of the request, for limits on what is not identified yet; nil if unknown.
    var source: SourceAddress?

    /// False if the body has the credentials, so that anyone could have sent it.
    var isIdentified: Bool { match.authentication != .body }

    var sender: BodySender { isIdentified ? .identified : .unidentified(source) }

    var bodyBytes: Int { body?.readableBytes ?? 0 }

    private(set) var bodyParts = 0

    /// Reserves memory for more bytes of the body. Returns false if the budget has no room.
    mutating func reserve(_ bytes: Int, from budget: BodyBudget) -> Bool {
        let reservation = reservation ?? BodyReservation(from: budget, for: sender)
        self.reservation = reservation
        return reservation.grow(by: bytes)
    }

    /// Adds a part of the body. The buffer doubles as bytes arrive. Announced bytes are not reserved, because an
    /// announcement costs the sender nothing.
    mutating func append(_ part: ByteBuffer) {
        bodyParts += 1
        guard body != nil else { return body = part }
        body?.writeImmutableBuffer(part)
    }

    /// True if the body arrives in so many small parts that handling them costs too much.
    var isTooFragmented: Bool { bodyParts > 1024 + bodyBytes / 256 }

    /// The time at which the body was complete; nil until then.
    private(set) var completion: NIODeadline?

    /// Marks the body as complete and drops it with its reservation: the delivered copy has both.
    mutating func complete(at now: NIODeadline) {
        completion = now
        (body, reservation) = (nil, nil)
    }
}
