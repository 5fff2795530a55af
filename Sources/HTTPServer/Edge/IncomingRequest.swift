// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Settings

/// A request while it arrives: the header is complete, the body may not be.
struct IncomingRequest: Sendable {
    /// The header.
    let header: RequestHeader
    /// The result of the search in the route table.
    let match: RouteMatch
    /// The client that sends it; nil for a client without valid credentials.
    let client: Client?
    /// What has arrived of the body.
    private(set) var body: ByteBuffer?
    /// The memory that is reserved for `body`; nil until bytes arrive.
    private(set) var reservation: BodyReservation?
    /// When the header was complete.
    let arrival: NIODeadline

    /// The bytes of `body`.
    var bodyBytes: Int { body?.readableBytes ?? 0 }

    /// A request of which the header has arrived.
    init(_ header: RequestHeader, _ match: RouteMatch, _ client: Client?, at arrival: NIODeadline) {
        self.header = header
        self.match = match
        self.client = client
        self.arrival = arrival
    }

    /// How many parts the body came in.
    private(set) var bodyParts = 0

    /// Reserves memory for so many bytes more of the body; false if there is not so much.
    mutating func reserve(_ bytes: Int, from budget: BodyBudget) -> Bool {
        let reservation = reservation ?? BodyReservation(from: budget)
        self.reservation = reservation
        return reservation.grow(by: bytes)
    }

    /// Adds a part of the body. The buffer doubles as bytes arrive; nothing is reserved for what is merely announced,
    /// because an announcement costs its sender nothing.
    mutating func append(_ part: ByteBuffer) {
        bodyParts += 1
        guard body != nil else { return body = part }
        body?.writeImmutableBuffer(part)
    }

    /// Whether the body comes in so many small parts that handling them costs more than the body is worth.
    var isTooFragmented: Bool { bodyParts > 1024 + bodyBytes / 256 }

    /// When the body was complete; nil until then.
    private(set) var completion: NIODeadline?

    /// The body is complete: gives it up, with its reservation, because the copy that was delivered has both.
    mutating func complete(at now: NIODeadline) {
        completion = now
        (body, reservation) = (nil, nil)
    }
}
