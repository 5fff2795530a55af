// SPDX-License-Identifier: Apache-2.0
//
// How a backend asks receipt-gateway. Swift 6, nothing but Foundation.
//
//   swiftc -parse-as-library ReceiptClient.swift -o receipt-client
//   RECEIPTS_BUNDLE_ID=com.example.shop ./receipt-client EVIDENCE KNOWN.json
//
// prints whether to serve the customer, and why. EVIDENCE is what the app sent: a receipt in base64, one JWS, or the JSON
// of docs/storekit.md with the signed transactions of StoreKit 2. KNOWN.json stands for the row of your database that says
// what this customer had when you last knew. RECEIPTS_BUNDLE_ID is your app: evidence of another app is genuine, too.
// RECEIPTS_URL, RECEIPTS_KEY and RECEIPTS_MODE name the gateway, the API key and the mode.

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The part of the gateway's answer that this client reads; docs/api.yaml has all of it.
struct Answer: Decodable {
    struct Provenance: Decodable { let source: String, degraded: Bool }
    struct Purchase: Decodable { let product_id: String, expires_date_ms: Int64?, cancellation_date_ms: Int64? }
    struct Subscription: Decodable { let state: String, product_id: String, access_until_ms: Int64? }
    let verdict: String, reason: String?, provenance: Provenance
    let transactions: [Purchase], subscriptions: [Subscription]

    static func rejected(_ reason: String) -> Answer {
        Answer(
            verdict: "rejected", reason: reason, provenance: Provenance(source: "local", degraded: false),
            transactions: [], subscriptions: [])
    }
}

/// The body of a request: a receipt, or the signed transactions of StoreKit 2.
struct Question: Codable {
    var receipt: String?
    var signed_transactions: [String]?, signed_renewal_infos: [String]?, app_transaction: String?
    var mode: String?, bundle_id: String?

    static let evidenceFields = ["receipt", "signed_transactions", "signed_renewal_infos", "app_transaction"]

    /// Takes the evidence that the app sent, and nothing else: the other fields are for this backend to choose. Nil if
    /// there is none.
    init?(evidence sent: String) {
        guard sent.drop(while: \.isWhitespace).first == "{" else {
            guard !sent.allSatisfy(\.isWhitespace) else { return nil }
            receipt = sent
            return
        }
        guard let fields = try? JSONDecoder().decode(Question.self, from: Data(sent.utf8)) else { return nil }
        if let transactions = fields.signed_transactions, !transactions.isEmpty {
            signed_transactions = transactions
            (signed_renewal_infos, app_transaction) = (fields.signed_renewal_infos, fields.app_transaction)
        } else if let app = fields.app_transaction {
            // A customer without purchases: the app itself is genuine.
            receipt = app
        } else {
            return nil
        }
    }
}

/// An error of the gateway's (RFC 9457).
struct Problem: Decodable { let code: String?, detail: String?, field: String?, fault: String? }

/// No verdict now; not the customer's fault.
struct Unanswered: Error { let why: String }

/// A product that a customer has, and its end (nil for none).
struct Known: Codable {
    var product: String
    var until_ms: Int64?
    var provisional: Bool? = nil
}

struct Client {
    enum Attempt { case answered(Answer), failed(why: String, wait: Double) }

    /// The app whose evidence is accepted.
    let bundleID: String
    var url = URL(string: "http://127.0.0.1:8080")
    var key = ""
    var mode = "auto"
    /// All attempts together. The gateway itself waits for Apple for up to 4 s (gateway.apple.soft_timeout).
    var deadline = 10.0
    static let attemptSeconds = 6.0, attempts = 4

    /// The gateway's answer. Asking twice about a purchase does no harm, so a failed request is retried.
    func verify(_ evidence: Question) async throws -> Answer {
        var question = evidence
        (question.mode, question.bundle_id) = (mode, bundleID)
        let body = try JSONEncoder().encode(question)
        let clock = ContinuousClock(), end = clock.now + .seconds(deadline)
        var why = "no time left"
        for attempt in 0..<Self.attempts {
            let left = clock.now.duration(to: end) / .seconds(1)
            guard left > 0 else { break }
            let failed: (why: String, wait: Double)
            switch try await ask(body, attempt, seconds: min(Self.attemptSeconds, left)) {
            case .answered(let answer): return answer
            case .failed(let reason, let wait): failed = (reason, wait)
            }
            why = failed.why
            // Before Retry-After a retry is in vain. A caller that cannot wait so long does not retry.
            guard clock.now + .seconds(failed.wait) < end else { break }
            try await Task.sleep(for: .seconds(failed.wait))
        }
        throw Unanswered(why: why)
    }

    private func ask(_ body: Data, _ attempt: Int, seconds: Double) async throws -> Attempt {
        let data: Data, response: URLResponse
        do {
            let request = try request(body)
            (data, response) = try await Self.within(seconds) { try await URLSession.shared.data(for: request) }
        } catch let error as URLError {
            return .failed(why: "URLError \(error.code.rawValue)", wait: Self.backoff(attempt))
        }
        guard let head = response as? HTTPURLResponse else { throw Unanswered(why: "no HTTP") }
        if head.statusCode == 200 {
            guard let answer = try? JSONDecoder().decode(Answer.self, from: data) else {
                return .failed(why: "half an answer", wait: Self.backoff(attempt))
            }
            return .answered(answer)
        }
        let problem = try? JSONDecoder().decode(Problem.self, from: data)
        // The app sent no base64, or no list: not a fault of ours, so no reason to serve.
        if head.statusCode == 400, let field = problem?.field, Question.evidenceFields.contains(field) {
            return .answered(.rejected(problem?.fault ?? "malformed"))
        }
        let why = "\(head.statusCode) \(problem?.code ?? "")".trimmingCharacters(in: .whitespaces)
        // Any other 400, 401, 403: our request, our key, our configuration. A retry does not help: alert the operator.
        guard [429, 502, 503, 504].contains(head.statusCode) else {
            throw Unanswered(why: "\(why): \(problem?.detail ?? "")")
        }
        // Whole seconds. A random delay spreads the clients that got the same value.
        let promised = head.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init)
        return .failed(why: why, wait: promised.map { $0 + .random(in: 0...0.5) } ?? Self.backoff(attempt))
    }

    /// A limit for the whole exchange; `timeoutInterval` only limits silence, and not on every platform.
    private static func within<Value: Sendable>(
        _ seconds: Double, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                throw URLError(.timedOut)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw URLError(.timedOut) }
            return first
        }
    }

    private func request(_ body: Data) throws -> URLRequest {
        guard let url else { throw Unanswered(why: "RECEIPTS_URL is no URL") }
        var request = URLRequest(url: url.appendingPathComponent("v1/verify"))
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if !key.isEmpty { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        return request
    }

    private static func backoff(_ attempt: Int) -> Double {
        .random(in: 0.05...(0.2 * Double(1 << attempt)))
    }
}

struct Decision {
    /// The cost of an outage: a day of service for a known customer, an hour for an unknown one.
    static let keepKnown: Int64 = 24 * 3_600_000, trustNew: Int64 = 3_600_000

    var serve: Bool, why: String, remember: Known?

    /// The decision whether to serve, its reason, and the state to remember.
    static func about(_ sent: String, _ client: Client, known: Known?, now: Int64) async throws -> Decision {
        guard let evidence = Question(evidence: sent) else {
            return Decision(serve: false, why: "no evidence", remember: known)
        }
        let answer: Answer
        do {
            answer = try await client.verify(evidence)
        } catch let error as Unanswered {
            return withoutAnswer(error.why, known, now)
        }
        switch answer.verdict {
        case "undecided": return withoutAnswer("undecided, \(answer.reason ?? "")", known, now)
        // It says nothing about what the customer had before.
        case "rejected": return Decision(serve: false, why: "rejected, \(answer.reason ?? "")", remember: known)
        default: break
        }
        let found = entitlement(answer), degraded = answer.provenance.degraded
        let word = answer.provenance.source + (degraded ? ", degraded" : "")
        // Apple was wanted and did not come: a renewal may be missing. That takes nothing from anybody.
        if found == nil, degraded, known != nil { return withoutAnswer(word, known, now) }
        return Decision(serve: found != nil, why: "\(found?.product ?? "nothing bought") (\(word))", remember: found)
    }

    /// Returns the entitlements of genuine evidence now.
    static func entitlement(_ answer: Answer) -> Known? {
        for subscription in answer.subscriptions {
            guard ["active", "in_grace_period"].contains(subscription.state) else { continue }
            return Known(product: subscription.product_id, until_ms: subscription.access_until_ms)
        }
        // What was bought once has no end. Consumables stay here until the app finishes them: credit each transaction_id
        // once.
        let once = answer.transactions.first { $0.expires_date_ms == nil && $0.cancellation_date_ms == nil }
        return once.map { Known(product: $0.product_id, until_ms: nil) }
    }

    /// An outage is ours, not the customer's: a known customer keeps access for a while, a new one gets a short one.
    static func withoutAnswer(_ why: String, _ known: Known?, _ now: Int64) -> Decision {
        guard let known else {
            let provisional = Known(product: "provisional", until_ms: now + trustNew, provisional: true)
            return Decision(serve: true, why: "provisional (\(why))", remember: provisional)
        }
        let serve = known.until_ms.map { now < $0 + (known.provisional == true ? 0 : keepKnown) } ?? true
        return Decision(serve: serve, why: "\(known.product), as last known (\(why))", remember: known)
    }
}

@main enum Program {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 3, let client = client() else {
            print("usage: RECEIPTS_BUNDLE_ID=ID receipt-client EVIDENCE KNOWN.json")
            exit(64)
        }
        let row = URL(fileURLWithPath: words[2])
        let known = try? JSONDecoder().decode(Known.self, from: Data(contentsOf: row))
        let sent = try String(contentsOfFile: words[1], encoding: .utf8)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let decision = try await Decision.about(sent, client, known: known, now: now)
        try JSONEncoder().encode(decision.remember).write(to: row)
        print(decision.serve ? "serve" : "refuse", "–", decision.why)
        exit(decision.serve ? 0 : 1)
    }

    private static func client() -> Client? {
        let environment = ProcessInfo.processInfo.environment
        guard let bundleID = environment["RECEIPTS_BUNDLE_ID"], !bundleID.isEmpty else { return nil }
        var client = Client(bundleID: bundleID)
        if let url = environment["RECEIPTS_URL"] { client.url = URL(string: url) }
        if let key = environment["RECEIPTS_KEY"] { client.key = key }
        if let mode = environment["RECEIPTS_MODE"] { client.mode = mode }
        if let deadline = environment["RECEIPTS_DEADLINE"].flatMap(Double.init) { client.deadline = deadline }
        return client
    }
}
