// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import Receipts

/// The simulator's behaviour for one call.
struct PlannedResponse: Sendable {
    /// The behaviour on the wire.
    enum Reply: Sendable {
        /// An answer, correctly framed.
        case answer(HTTPAnswer)
        case slowly(HTTPAnswer, bytesPerSecond: Int)
        /// Half an answer, then a reset.
        case halfAnswer(HTTPAnswer)
        case reset
        case silence
    }

    let reply: Reply
    /// The time until the reply begins.
    let latency: Duration
    /// The name of the outcome, for the statistics.
    let outcome: String

    /// - Parameter answer: makes the answer, with the fault's deviation if any; called only if needed.
    init(_ effects: Effects, of api: AppleAPI, now: Timestamp, answer: () -> PlannedAnswer) {
        let (fault, headers) = (effects.fault ?? .none, effects.headers ?? [])
        latency = effects.latency ?? .zero
        (reply, outcome) =
            Self.withoutAnswer(fault, of: api, headers, now) ?? Self.withAnswer(fault, headers, answer())
    }

    /// Returns the reply for faults that ignore the request.
    private static func withoutAnswer(
        _ fault: ServerFault, of api: AppleAPI, _ headers: [ScenarioPhase.HeaderField], _ now: Timestamp
    ) -> (Reply, String)? {
        switch fault {
        case .reset: return (.reset, "reset")
        case .tls: return (.reset, "tls")
        case .noAnswer: return (.silence, "no_answer")
        case .httpStatus(let code): return (.answer(.page(code, headers)), "http_\(code)")
        case .html: return (.answer(.page(200, headers)), "html")
        case .empty: return (.answer(HTTPAnswer(headers: headers)), "empty")
        // The Server API says so with an error.
        case .throttled(let delay) where api == .verifyReceipt:
            let moment = String(now.advanced(by: delay).millisecondsSince1970)
            return (.answer(.page(429, headers + [.init(name: "Retry-After", value: moment)])), "throttled")
        case .receiptStatus(let status) where !status.hasReceipt:
            let body = StoreAnswer(status: status.status, retryable: status.retryable).body
            return (.answer(HTTPAnswer(headers: headers, body: body)), "status_\(status.status)")
        default: return nil
        }
    }

    private static func withAnswer(
        _ fault: ServerFault, _ headers: [ScenarioPhase.HeaderField], _ answer: PlannedAnswer
    ) -> (Reply, String) {
        var full = answer.http
        full.headers += headers
        switch fault {
        case .truncated:
            full.body = full.body.getSlice(at: full.body.readerIndex, length: full.body.readableBytes / 2) ?? full.body
            return (.answer(full), "truncated")
        case .slowBody(let rate): return (.slowly(full, bytesPerSecond: rate), "slow_body")
        case .resetMidBody: return (.halfAnswer(full), "reset_mid_body")
        case .tampered: return (.answer(full), "tampered")
        case .wrongEnvironment: return (.answer(full), "wrong_environment")
        case .latestReceipt(let replacement): return (.answer(full), "latest_receipt_\(replacement.rawValue)")
        case .compressed(let coding):
            full.headers.append(.init(name: "Content-Encoding", value: coding.rawValue))
            full.body = ByteBuffer(bytes: coding.encode(full.body.readableBytesView))
            return (.answer(full), coding.rawValue)
        default: return (.answer(full), answer.outcome)
        }
    }
}

/// The correct answer, and the name of its outcome for the statistics.
struct PlannedAnswer: Sendable {
    let http: HTTPAnswer
    let outcome: String

    init(_ http: HTTPAnswer, outcome: String? = nil) {
        self.http = http
        self.outcome = outcome ?? "http_\(http.status.code)"
    }
}

/// A `status`, and its JSON.
struct StoreAnswer: Sendable {
    let status: Int
    let body: ByteBuffer

    /// - Parameter writeMembers: writes the members after the status.
    init(
        status: Int, retryable: ServerFault.Retryable? = nil,
        _ writeMembers: (inout JSONWriter) -> Void = { _ in }
    ) {
        body = ByteBuffer(json: { answer in
            answer.member("status", status)
            if let retryable {
                answer.key(named: retryable.name)
                answer.literal(retryable.literal)
            }
            writeMembers(&answer)
        })
        self.status = status
    }

    var planned: PlannedAnswer { PlannedAnswer(HTTPAnswer(body: body), outcome: "status_\(status)") }

    init(status: Int, environment: Environment) {
        self.init(status: status) { $0.member("environment", environment.rawValue) }
    }

    /// Returns the answer to anything but a genuine receipt. Apple names the environment with 21003, not with 21002.
    static func refusal(of subject: ReceiptRequest.Subject, at endpoint: Endpoint) -> StoreAnswer {
        if case .malformed = subject { return StoreAnswer(status: 21002) }
        return StoreAnswer(status: 21003, environment: endpoint.environment)
    }
}
