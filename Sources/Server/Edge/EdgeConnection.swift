// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// The rules of one connection, as a value: what may arrive when, how much, and by when. Time is an argument; the only
/// thing touched outside is the budget of body bytes. `EdgeHandler` carries out the actions.
///
/// The router sees complete requests only, one at a time. Until a request is complete it costs a connection and its
/// bytes, but no task; and whatever the edge refuses, the router has never seen.
struct EdgeConnection {
    /// What the handler is to do next.
    enum Action {
        case nothing
        /// Answer `100 Continue`.
        case sendContinue
        /// Hand the request to the router.
        case deliver(IncomingRequest)
        /// Answer with a problem, then close. The request is nil if its header was not readable.
        case refuse(EdgeRefusal, IncomingRequest?)
        /// Close without a word.
        case close
    }

    private enum Phase {
        case awaitingHead(isFirst: Bool, until: NIODeadline)
        case receiving(IncomingRequest, until: NIODeadline)
        case answering(IncomingRequest, until: NIODeadline, isBegun: Bool)
        /// The last answer is out. What still arrives is read and dropped, because closing a socket with unread bytes
        /// resets the connection, and the client may lose the answer.
        case lingering(until: NIODeadline)
        case closed
    }

    private var phase: Phase
    private let rules: EdgeRules
    private let budget: BodyBudget
    private var reservedBytes = 0
    private var isClosingAfterAnswer = false

    /// A connection that was just accepted.
    init(rules: EdgeRules, budget: BodyBudget, at now: NIODeadline) {
        (self.rules, self.budget) = (rules, budget)
        phase = .awaitingHead(isFirst: true, until: now + rules.headersDeadline)
    }

    /// Whether the socket should be read. Not while a request is with the router: that is the back-pressure.
    var wantsRead: Bool {
        switch phase {
        case .awaitingHead, .receiving, .lingering: true
        case .answering, .closed: false
        }
    }

    /// Whether a request is with the router.
    var isAnswering: Bool {
        if case .answering = phase { true } else { false }
    }

    /// When `deadlinePassed(at:)` is to be called; nil for a connection that has ended.
    var deadline: NIODeadline? {
        switch phase {
        case .awaitingHead(_, let deadline), .receiving(_, let deadline), .answering(_, let deadline, _),
            .lingering(let deadline):
            deadline
        case .closed: nil
        }
    }
}

// MARK: - Arrivals

extension EdgeConnection {
    /// A part of a request arrived. Not to be called while a request is with the router.
    mutating func receive(_ part: HTTPRequestPart, at now: NIODeadline) -> Action {
        switch (phase, part) {
        case (.awaitingHead, .head(let head)): return begin(IncomingRequest(head, at: now))
        case (.receiving(let request, let deadline), .body(let bytes)):
            phase = .closed  // The request must have one owner, or appending to its body copies it.
            return append(bytes, to: request, until: deadline, at: now)
        case (.receiving(let request, _), .end):
            phase = .answering(request, until: now + rules.answerDeadline, isBegun: false)
            return .deliver(request)
        default: return .nothing
        }
    }

    private mutating func begin(_ request: IncomingRequest) -> Action {
        phase = .receiving(request, until: request.arrival + rules.requestDeadline)
        if let announced = request.announcedBytes {
            if announced > rules.bodyLimit.bytes { return refuse(tooLarge, at: request.arrival) }
            if !budget.hasRoom(for: announced) { return refuse(.overloaded, at: request.arrival) }
        }
        guard let expectsContinue = request.expectsContinue else { return refuse(.expectation, at: request.arrival) }
        return expectsContinue ? .sendContinue : .nothing
    }

    private mutating func append(
        _ bytes: ByteBuffer, to request: consuming IncomingRequest, until deadline: NIODeadline, at now: NIODeadline
    ) -> Action {
        let isTooLarge = request.bodyBytes + bytes.readableBytes > rules.bodyLimit.bytes
        let isReserved = !isTooLarge && budget.reserve(bytes.readableBytes)
        if isReserved {
            reservedBytes += bytes.readableBytes
            request.append(bytes)
        }
        phase = .receiving(request, until: deadline)
        if isTooLarge { return refuse(tooLarge, at: now) }
        return isReserved ? .nothing : refuse(.overloaded, at: now)
    }

    private var tooLarge: EdgeRefusal { .bodyTooLarge(maximum: rules.bodyLimit) }

    /// What arrives is not HTTP, or more header than is allowed.
    mutating func fail(_ refusal: EdgeRefusal, at now: NIODeadline) -> Action {
        switch phase {
        case .awaitingHead, .receiving: refuse(refusal, at: now)
        case .answering, .lingering, .closed: .nothing
        }
    }

    /// The client will send no more.
    mutating func inputClosed() -> Action {
        switch phase {
        case .awaitingHead, .receiving, .lingering: return close()
        case .answering: isClosingAfterAnswer = true
        case .closed: break
        }
        return .nothing
    }
}

// MARK: - Answers

extension EdgeConnection {
    /// The router begins to answer: the request, and whether its answer is the connection's last. Nil for an answer
    /// that comes too late.
    mutating func beginAnswer(isDraining: Bool) -> (request: IncomingRequest, isLast: Bool)? {
        guard case .answering(let request, let deadline, _) = phase else { return nil }
        phase = .answering(request, until: deadline, isBegun: true)
        isClosingAfterAnswer = isClosingAfterAnswer || isDraining || request.isLast
        return (request, isClosingAfterAnswer)
    }

    /// The router's answer is complete: whether the connection goes on.
    mutating func endAnswer(at now: NIODeadline) -> Bool {
        guard case .answering = phase else { return false }
        releaseBytes()
        if isClosingAfterAnswer {
            phase = .lingering(until: now + rules.lingerDeadline)
        } else {
            phase = .awaitingHead(isFirst: false, until: now + rules.idleDeadline)
        }
        return !isClosingAfterAnswer
    }

    private mutating func refuse(_ refusal: EdgeRefusal, at now: NIODeadline) -> Action {
        var request: IncomingRequest?
        switch phase {
        case .receiving(let incoming, _), .answering(let incoming, _, _): request = incoming
        case .awaitingHead, .lingering, .closed: break
        }
        releaseBytes()
        phase = .lingering(until: now + rules.lingerDeadline)
        return .refuse(refusal, request)
    }
}

// MARK: - Ends

extension EdgeConnection {
    /// A deadline may have passed.
    mutating func deadlinePassed(at now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        switch phase {
        case .awaitingHead(isFirst: true, _): return refuse(.headersLate, at: now)
        case .receiving: return refuse(.bodyLate, at: now)
        case .answering(_, _, isBegun: false): return refuse(.answerLate, at: now)
        // An idle client expects no answer, and half an answer cannot be mended by another.
        case .awaitingHead(isFirst: false, _), .answering(_, _, isBegun: true), .lingering: return close()
        case .closed: return .nothing
        }
    }

    /// The server stops: an idle connection ends now, a busy one after its answer or at the deadline.
    mutating func quiesce(at now: NIODeadline) -> Action {
        isClosingAfterAnswer = true
        let last = now + rules.shutdownGrace
        switch phase {
        case .awaitingHead: return close()
        case .receiving(let request, let deadline): phase = .receiving(request, until: min(deadline, last))
        case .answering(let request, let deadline, let isBegun):
            phase = .answering(request, until: min(deadline, last), isBegun: isBegun)
        case .lingering, .closed: break
        }
        return .nothing
    }

    /// The connection is gone, whoever closed it.
    mutating func ended() {
        releaseBytes()
        phase = .closed
    }

    private mutating func close() -> Action {
        ended()
        return .close
    }

    private mutating func releaseBytes() {
        budget.release(reservedBytes)
        reservedBytes = 0
    }
}
