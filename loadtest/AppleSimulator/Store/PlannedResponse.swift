// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Receipts

/// The simulator's behaviour for one call.
struct PlannedResponse: Sendable {
    enum Reply: Sendable {
        /// An answer, correctly framed.
        case answer(StoreAnswer)
        case slowly(StoreAnswer, bytesPerSecond: Int)
        case halfAnswer(StoreAnswer)
        case reset
        case silence
    }

    let reply: Reply
    /// The time until the reply begins.
    let latency: Duration
    /// The name of the outcome, for the statistics.
    let outcome: String

    /// - Parameter answer: makes the answer, with the fault's deviation if any; called only if needed.
    init(_ effects: Effects, of api: AppleAPI, now: Timestamp, answer: () -> StoreAnswer) {
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
        case .empty: return (.answer(StoreAnswer(headers: headers)), "empty")
        // The Server API says so with an error.
        case .throttled(let delay) where api == .verifyReceipt:
            let moment = String(now.advanced(by: delay).millisecondsSince1970)
            return (.answer(.page(429, headers + [.init(name: "Retry-After", value: moment)])), "throttled")
        case .receiptStatus(let status) where !status.hasReceipt:
            var answer = StoreAnswer.receiptStatus(status.status, retryable: status.retryable)
            answer.headers = headers
            return (.answer(answer), "status_\(status.status)")
        default: return nil
        }
    }

    private static func withAnswer(
        _ fault: ServerFault, _ headers: [ScenarioPhase.HeaderField], _ answer: StoreAnswer
    ) -> (Reply, String) {
        var full = answer
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
        default: return (.answer(full), answer.outcome ?? "http_\(answer.status.code)")
        }
    }
}
