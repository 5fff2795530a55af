// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Settings

/// The rules of one connection, as a value: what may arrive when, how much, and by when. Time is an argument; the only
/// thing touched outside is the budget of body bytes. `EdgeHandler` carries out the actions.
///
/// Handlers see complete requests only, one at a time. Until a request is complete it costs a connection and its bytes;
/// and whatever the edge refuses, no handler has seen.
struct EdgeConnection {
    /// What the handler is to do next.
    enum Action {
        case nothing
        /// Answer `100 Continue`.
        case sendContinue
        /// Answer the request.
        case deliver(IncomingRequest)
        /// Answer with a problem, then close. The request is nil if its header was not readable.
        case refuse(EdgeRefusal, IncomingRequest?)
        /// Close once everything is written.
        case finish
        /// Close without a word, and without what is not written yet.
        case close
    }

    private enum Phase {
        case awaitingHead(isFirst: Bool, until: NIODeadline)
        case receiving(until: NIODeadline)
        case answering(until: NIODeadline, isBegun: Bool)
        /// The last answer is out. What still arrives is read and dropped, because closing a socket with unread bytes
        /// resets the connection, and the client may lose the answer.
        case lingering(until: NIODeadline)
        case closed
    }

    private var phase: Phase
    /// The request that is being received or answered. Beside the phase and not in it, so that its body has one owner
    /// and grows in place.
    private var request: IncomingRequest?
    private let rules: EdgeRules
    private let routes: RouteTable
    private let budget: BodyBudget
    private var isClosingAfterAnswer = false
    /// The place of a trusted proxy's request among those of the address it names; nil for other peers.
    var forwarded: ForwardedRequest?
    /// When the last answer ends at the latest; nil while nobody stops the server.
    private var lastMoment: NIODeadline?

    /// A connection that was just accepted.
    init(rules: EdgeRules, routes: RouteTable, budget: BodyBudget, at now: NIODeadline) {
        self.rules = rules
        self.routes = routes
        self.budget = budget
        phase = .awaitingHead(isFirst: true, until: now + rules.headersDeadline)
    }

    /// Whether the socket should be read. Not while a request is being answered: that is the back-pressure.
    var wantsRead: Bool {
        switch phase {
        case .awaitingHead, .receiving, .lingering: true
        case .answering, .closed: false
        }
    }

    /// Whether a request is being answered.
    var isAnswering: Bool {
        if case .answering = phase { true } else { false }
    }

    /// When `deadlinePassed(at:)` is to be called; nil for a connection that has ended.
    var deadline: NIODeadline? {
        switch phase {
        case .awaitingHead(_, let deadline), .receiving(let deadline), .answering(let deadline, _),
            .lingering(let deadline):
            deadline
        case .closed: nil
        }
    }
}

// MARK: - Arrivals

extension EdgeConnection {
    /// A part of a request arrived. Not to be called while a request is being answered.
    mutating func receive(_ part: HTTPServerRequestPart, at now: NIODeadline) -> Action {
        switch (phase, part) {
        case (.awaitingHead, .head(let head)):
            do throws(EdgeRefusal) {
                return begin(try RequestHeader(head), at: now)
            } catch {
                return refuse(error, at: now)
            }
        case (.receiving, .body(let bytes)): return append(bytes, at: now)
        case (.receiving, .end): return complete(at: now)
        default: return .nothing
        }
    }

    private mutating func begin(_ header: RequestHeader, at now: NIODeadline) -> Action {
        let match = routes.match(header.method, header.path)
        let client = rules.client(of: header, for: match)
        request = IncomingRequest(header, match, client, at: now)
        phase = .receiving(until: now + rules.requestDeadline)
        guard let client else { return refuse(.unauthenticated, at: now) }
        if let refusal = rules.refusal(of: header, from: client) { return refuse(refusal, at: now) }
        guard forwarded?.begin(header) ?? true else { return refuse(.tooManyOfAddress, at: now) }
        if let announced = header.announcedBytes {
            if announced > rules.bodyLimit.bytes { return refuse(tooLarge, at: now) }
            if !budget.hasRoom(for: announced) { return refuse(.overloaded, at: now) }
        }
        guard let expectsContinue = header.expectsContinue else { return refuse(.expectation, at: now) }
        return expectsContinue ? .sendContinue : .nothing
    }

    private mutating func append(_ bytes: ByteBuffer, at now: NIODeadline) -> Action {
        let count = bytes.readableBytes
        let sent = (request?.bodyBytes ?? 0) + count
        guard sent <= rules.bodyLimit.bytes else { return refuse(tooLarge, at: now) }
        guard request?.reserve(count, from: budget) == true else { return refuse(.overloaded, at: now) }
        request?.append(bytes)
        return request?.isTooFragmented == true ? refuse(.bodyTooFragmented, at: now) : .nothing
    }

    private mutating func complete(at now: NIODeadline) -> Action {
        guard let complete = request else { return .nothing }
        request?.complete(at: now)
        phase = .answering(until: now + rules.answerDeadline, isBegun: false)
        return .deliver(complete)
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
    mutating func inputClosed(at now: NIODeadline) -> Action {
        switch phase {
        case .awaitingHead: return finish(until: now + rules.idleDeadline)
        case .receiving, .lingering: return close()
        case .answering: isClosingAfterAnswer = true
        case .closed: break
        }
        return .nothing
    }
}

// MARK: - Answers

extension EdgeConnection {
    /// An answer begins: the request, and whether its answer is the connection's last. Nil for an answer
    /// that comes too late.
    /// - Parameter hasLength: whether the answer's end is known from its header. In HTTP/1.0 the end of the connection is
    ///   the only other way to tell it.
    mutating func beginAnswer(
        isDraining: Bool, hasLength: Bool = true
    ) -> (request: IncomingRequest, isLast: Bool)? {
        guard case .answering(let deadline, _) = phase, let request else { return nil }
        phase = .answering(until: deadline, isBegun: true)
        let endsWithConnection = request.header.isHTTP10 && !hasLength
        isClosingAfterAnswer = isClosingAfterAnswer || isDraining || request.header.isLast || endsWithConnection
        return (request, isClosingAfterAnswer)
    }

    /// A part of an answer that goes on is being written: the next one has time of its own. Returns false if the answer is
    /// over, because the client is gone.
    mutating func continueAnswer(at now: NIODeadline, partDeadline: TimeAmount) -> Bool {
        guard case .answering(_, isBegun: true) = phase else { return false }
        phase = .answering(until: min(now + partDeadline, lastMoment ?? .distantFuture), isBegun: true)
        return true
    }

    /// An answer is complete: whether the connection goes on.
    mutating func endAnswer(at now: NIODeadline) -> Bool {
        guard case .answering = phase else { return false }
        forgetRequest()
        if isClosingAfterAnswer {
            phase = .lingering(until: now + rules.lingerDeadline)
        } else {
            phase = .awaitingHead(isFirst: false, until: now + rules.idleDeadline)
        }
        return !isClosingAfterAnswer
    }

    private mutating func refuse(_ refusal: EdgeRefusal, at now: NIODeadline) -> Action {
        let refused = request
        forgetRequest()
        let isKnown = refused?.client != nil
        phase = .lingering(until: now + (isKnown ? rules.lingerDeadline : rules.strangerLingerDeadline))
        return .refuse(refusal, refused)
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
        case .answering(_, isBegun: false): return refuse(.answerLate, at: now)
        // An idle client expects no answer, and half an answer cannot be mended by another.
        case .awaitingHead(isFirst: false, _), .answering(_, isBegun: true), .lingering: return close()
        case .closed: return .nothing
        }
    }

    /// The server stops: an idle connection ends now, a busy one after its answer or at the deadline.
    mutating func quiesce(at now: NIODeadline) -> Action {
        isClosingAfterAnswer = true
        let last = now + rules.shutdownGrace
        lastMoment = last
        switch phase {
        case .awaitingHead: return finish(until: last)
        case .receiving(let deadline): phase = .receiving(until: min(deadline, last))
        case .answering(let deadline, let isBegun): phase = .answering(until: min(deadline, last), isBegun: isBegun)
        case .lingering, .closed: break
        }
        return .nothing
    }

    /// The connection is gone, whoever closed it.
    mutating func ended() {
        forgetRequest()
        phase = .closed
    }

    private mutating func finish(until deadline: NIODeadline) -> Action {
        forgetRequest()
        phase = .lingering(until: deadline)
        return .finish
    }

    private mutating func close() -> Action {
        ended()
        return .close
    }

    /// The memory for its body is given back here only if the body was never delivered.
    private mutating func forgetRequest() {
        request = nil
        forwarded?.end()
    }
}
