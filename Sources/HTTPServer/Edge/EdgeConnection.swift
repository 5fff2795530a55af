// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import NIOCore

/// The rules of one connection, as a value: which parts may arrive, how large, and by when. Time is an argument; the
/// only outside state is the budget of body bytes. `EdgeHandler` performs the actions.
///
/// Handlers see only complete requests, one at a time. An incomplete request costs a connection and its bytes; no
/// handler sees a refused request.
struct EdgeConnection {
    enum Action {
        case nothing
        case sendContinue
        case deliver(RequestContext, ReservedBody)
        /// Answer with a problem, then close. The request is nil if its header was unreadable.
        case refuse(EdgeRefusal, RequestContext?, bodyBytes: Int)
        /// Close once everything is written.
        case finish
        /// Close at once, dropping what is not written yet.
        case close
    }

    private enum Phase {
        case handshaking(until: NIODeadline)
        case awaitingHead(isFirst: Bool, until: NIODeadline)
        case receiving(until: NIODeadline)
        case answering(until: NIODeadline, isBegun: Bool)
        /// The last answer is sent. Input is read and dropped: closing a socket with unread bytes resets the
        /// connection, and the client may lose the answer.
        case lingering(until: NIODeadline)
        case closed
    }

    private var phase: Phase
    private var request: RequestContext?
    /// The body that arrives. It is not part of the phase, so that it has one owner and grows in place.
    private var body = ReservedBody()
    private(set) var rules: EdgeRules
    private let routes: RouteTable
    private let budget: BodyBudget
    private var isClosingAfterAnswer = false
    /// The concurrency slot of a trusted proxy's request, counted for the address it names; nil for other peers.
    var forwarded: ForwardedRequest?
    /// The peer, which may be a proxy; nil if unknown.
    var peer: NetworkAddress?
    /// The peer's address; nil for a proxy, and if unknown.
    var source: SourceAddress?
    private let hasTLS: Bool
    /// The peer's certificate, verified; nil without one.
    private var certificate: ClientCertificate?
    /// The deadline of the last answer; nil until the server stops.
    private var lastMoment: NIODeadline?

    /// - Parameter handshakeDeadline: the time limit of the TLS handshake; nil without TLS.
    init(
        rules: EdgeRules, routes: RouteTable, budget: BodyBudget, handshakeDeadline: TimeAmount? = nil,
        at now: NIODeadline
    ) {
        (self.rules, self.routes, self.budget) = (rules, routes, budget)
        hasTLS = handshakeDeadline != nil
        phase =
            if let handshakeDeadline { .handshaking(until: now + handshakeDeadline) } else {
                .awaitingHead(isFirst: true, until: now + rules.headersDeadline)
            }
    }

    /// Begins HTTP after the TLS handshake.
    /// - Parameter certificate: identifies the client of each request that has no valid API key.
    mutating func secured(with certificate: ClientCertificate?, at now: NIODeadline) {
        guard case .handshaking = phase else { return }
        phase = .awaitingHead(isFirst: true, until: now + rules.headersDeadline)
        guard let certificate else { return }
        self.certificate = certificate
        rules.authenticate = { [rules] in rules.authenticate($0) ?? rules.identify(certificate) }
    }

    /// True if the socket should be read unless received input waits, also while a request is being answered: to change the
    /// interest in a socket takes a system call.
    var wantsRead: Bool {
        if case .closed = phase { false } else { true }
    }

    /// True if input is part of a request. Otherwise it is dropped, or waits for an answer.
    var wantsInput: Bool {
        switch phase {
        case .awaitingHead, .receiving: true
        case .handshaking, .answering, .lingering, .closed: false
        }
    }

    var isAnswering: Bool {
        if case .answering = phase { true } else { false }
    }

    /// True if the wait for the present answer ends once the client has closed its half of the connection.
    var endsWithClient: Bool { request?.match.route?.endsWithClient ?? false }

    /// The time to call `deadlinePassed(at:)`; nil for a connection that has ended.
    var deadline: NIODeadline? {
        switch phase {
        case .receiving(let deadline), .answering(let deadline, _): lastMoment.map { min(deadline, $0) } ?? deadline
        case .handshaking(let deadline), .awaitingHead(_, let deadline), .lingering(let deadline): deadline
        case .closed: nil
        }
    }

    /// Processes a part of a request. Must not be called while a request is being answered.
    mutating func receive(_ part: RequestPart, at now: NIODeadline) -> Action {
        switch (phase, part) {
        case (.awaitingHead, .head(let header)): return begin(header, at: now)
        case (.receiving, .body(let bytes)): return append(bytes, at: now)
        case (.receiving, .end): return complete(at: now)
        default: return .nothing
        }
    }

    private mutating func begin(_ header: RequestHeader, at now: NIODeadline) -> Action {
        let match = routes.match(header.method, header.path)
        let client = rules.client(of: header, for: match)
        request = RequestContext(
            header: header, match: match, client: client ?? .unidentified, peer: peer, hasTLS: hasTLS,
            unknownCertificate: client == nil ? certificate : nil, arrival: now)
        phase = .receiving(until: now + rules.requestDeadline)
        guard let client else { return refuse(.unauthenticated, at: now) }
        let refusal = rules.refusal(of: header, from: client, for: match, hasTLS: hasTLS)
        if let refusal { return refuse(refusal, at: now) }
        guard match.isProbe || forwarded?.begin(header) ?? true else { return refuse(.tooManyOfAddress, at: now) }
        if let announced = header.announcedBytes {
            if announced > bodyLimit { return refuse(.bodyTooLarge, at: now) }
            if let refusal = budget.refusal(of: announced, from: sender) { return refuse(refusal, at: now) }
        }
        guard !header.hasContentCoding else { return refuse(.contentCoding, at: now) }
        guard let expectsContinue = header.expectsContinue else { return refuse(.expectation, at: now) }
        return expectsContinue ? .sendContinue : .nothing
    }

    private var sender: BodySender {
        isIdentified ? .identified : .unidentified(forwarded?.held ?? source)
    }

    /// False if anyone could have sent the body: the credentials are in it, or are a key in an app, which anyone can read.
    private var isIdentified: Bool {
        guard let request else { return true }
        return request.match.authentication != .body && request.client.plugins.isEmpty
    }

    private var bodyLimit: Int { (request?.match.bodyLimit ?? rules.bodyLimit).bytes }

    private mutating func append(_ bytes: ByteBuffer, at now: NIODeadline) -> Action {
        let count = bytes.readableBytes
        guard body.bytes.readableBytes + count <= bodyLimit else { return refuse(.bodyTooLarge, at: now) }
        let sender = sender
        if let refusal = body.reserve(count, from: budget, for: sender) { return refuse(refusal, at: now) }
        body.append(bytes)
        return body.isTooFragmented ? refuse(.bodyTooFragmented, at: now) : .nothing
    }

    private mutating func complete(at now: NIODeadline) -> Action {
        guard let request else { return .nothing }
        request.complete(at: now)
        let deadline = now + rules.answerDeadline + request.match.waitLimit
        phase = .answering(until: deadline, isBegun: false)
        // The client's rate limits bound what follows.
        if !request.client.plugins.isEmpty { body.reservation?.identify() }
        // The handler becomes the only owner of the body.
        defer { body = ReservedBody() }
        return .deliver(request, body)
    }

    /// Refuses input that is not HTTP, or a header beyond the limits.
    mutating func fail(_ refusal: EdgeRefusal, at now: NIODeadline) -> Action {
        switch phase {
        case .awaitingHead, .receiving: refuse(refusal, at: now)
        case .handshaking, .answering, .lingering, .closed: .nothing
        }
    }

    mutating func inputClosed(at now: NIODeadline) -> Action {
        switch phase {
        case .awaitingHead: return finish(until: now + rules.idleDeadline)
        case .handshaking, .receiving, .lingering: return close()
        case .answering: isClosingAfterAnswer = true
        case .closed: break
        }
        return .nothing
    }

    /// Begins an answer. Returns the request, and whether the answer is the connection's last; nil if it comes too
    /// late.
    /// - Parameter hasLength: true if the header shows the answer's end. In HTTP/1.0 the only other way is to end the
    ///   connection.
    mutating func beginAnswer(
        isLast: Bool, hasLength: Bool = true
    ) -> (request: RequestContext, isLast: Bool)? {
        guard case .answering(let deadline, _) = phase, let request else { return nil }
        phase = .answering(until: deadline, isBegun: true)
        let endsWithConnection = request.header.version == .http1_0 && !hasLength
        isClosingAfterAnswer = isClosingAfterAnswer || isLast || request.header.isLast || endsWithConnection
        return (request, isClosingAfterAnswer)
    }

    /// Gives the next part of a streamed answer a deadline of its own. Returns false if the client has gone.
    mutating func continueAnswer(at now: NIODeadline, partDeadline: TimeAmount) -> Bool {
        guard case .answering(_, isBegun: true) = phase else { return false }
        phase = .answering(until: now + partDeadline, isBegun: true)
        return true
    }

    /// Completes an answer. Returns true if the connection stays open.
    mutating func endAnswer(at now: NIODeadline) -> Bool {
        guard case .answering(let deadline, _) = phase else { return false }
        forgetRequest()
        if isClosingAfterAnswer {
            // The client may read the answer slowly, but not beyond the end of the server.
            let last = min(deadline, lastMoment ?? deadline)
            phase = .lingering(until: max(last, now + rules.lingerDeadline))
        } else {
            phase = .awaitingHead(isFirst: false, until: now + rules.idleDeadline)
        }
        return !isClosingAfterAnswer
    }

    /// Waits no longer than usual for the client to end the connection, whose last answer is written.
    mutating func wroteLastAnswer(at now: NIODeadline) {
        guard case .lingering(let deadline) = phase else { return }
        phase = .lingering(until: min(deadline, now + rules.lingerDeadline))
    }

    private mutating func refuse(_ refusal: EdgeRefusal, at now: NIODeadline) -> Action {
        let (refused, bodyBytes) = (request, body.bytes.readableBytes)
        let isKnown = refusal != .unauthenticated && refused.map { $0.match.authentication != .body } ?? false
        forgetRequest()
        phase = .lingering(until: now + (isKnown ? rules.lingerDeadline : rules.unauthenticatedLingerDeadline))
        return .refuse(refusal, refused, bodyBytes: bodyBytes)
    }

    mutating func deadlinePassed(at now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        switch phase {
        // The client may be sending a request: its end must not be a reset.
        case .awaitingHead where lastMoment != nil: return finish(until: now + rules.lingerDeadline)
        case .awaitingHead(isFirst: true, _): return refuse(.headersLate, at: now)
        case .receiving: return refuse(.bodyLate, at: now)
        case .answering(_, isBegun: false): return refuse(.answerLate, at: now)
        // An idle client expects no answer, and half an answer cannot be repaired by another.
        case .handshaking, .awaitingHead(isFirst: false, _), .answering(_, isBegun: true), .lingering: return close()
        case .closed: return .nothing
        }
    }

    /// Stops the connection: after its answer, or at the deadline. An idle connection ends now; after a delay, in which its
    /// client had no reason to notice, it waits for one more request: a request that meets the end of its connection fails.
    mutating func quiesce(at now: NIODeadline, isDelayed: Bool = false) -> Action {
        isClosingAfterAnswer = true
        let last = now + rules.shutdownGrace
        lastMoment = last
        switch phase {
        case .handshaking: return close()
        case .awaitingHead(let isFirst, let deadline) where isDelayed && rules.idleGrace > .zero:
            phase = .awaitingHead(isFirst: isFirst, until: min(deadline, last, now + rules.idleGrace))
        case .awaitingHead: return finish(until: last)
        case .lingering(let deadline): phase = .lingering(until: min(deadline, max(last, now + rules.lingerDeadline)))
        case .receiving, .answering, .closed: break
        }
        return .nothing
    }

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

    /// Releases the memory for the body only if the body was never delivered.
    private mutating func forgetRequest() {
        if body.reservation != nil { body = ReservedBody() }
        request = nil
        forwarded?.end()
    }
}
