// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import AppStore
    internal import Gateway
    @testable internal import HTTPClient
    internal import JSON
    internal import ReceiptForge
    internal import Receipts

    /// A call, and Apple's answer to it.
    struct ServerAPIExchange: Sendable {
        let call: ServerAPICall
        /// Apple's answer, with marks such as `$0` in place of JWS.
        let answer: String
        /// The members with JWS that Apple documents, each by its path of names through all lists.
        fileprivate let signed: [[String]]

        private init(_ method: String, _ path: String, sent: String = "", _ answer: String, signed: [[String]] = []) {
            let call = try? ServerAPICall(method: method, path: "/inApps/" + path, query: nil, body: Array(sent.utf8))
            guard let call else { preconditionFailure("\(path) is no path of the Server API") }
            (self.call, self.answer, self.signed) = (call, answer, signed)
        }

        static let all: [ServerAPIExchange] = [
            ServerAPIExchange(
                "GET", "v1/transactions/2000000900000002", #"{"signedTransactionInfo":"$0"}"#,
                signed: [["signedTransactionInfo"]]),
            ServerAPIExchange(
                "GET", "v2/history/2000000900000002",
                #"{"revision":"r","hasMore":true,"bundleId":"com.example.forge","environment":"Sandbox","#
                    + #""signedTransactions":["$0","$4"]}"#,
                signed: [["signedTransactions"]]),
            ServerAPIExchange(
                "GET", "v1/subscriptions/2000000900000002",
                #"{"environment":"Sandbox","bundleId":"com.example.forge","data":[{"lastTransactions":["#
                    + #"{"status":1,"signedTransactionInfo":"$0","signedRenewalInfo":"$1"}]}]}"#,
                signed: [
                    ["data", "lastTransactions", "signedTransactionInfo"],
                    ["data", "lastTransactions", "signedRenewalInfo"],
                ]),
            ServerAPIExchange(
                "GET", "v1/transactions/appTransactions/700000000000000001", #"{"signedAppTransactionInfo":"$2"}"#,
                signed: [["signedAppTransactionInfo"]]),
            ServerAPIExchange(
                "GET", "v1/lookup/M1", #"{"status":0,"signedTransactions":["$4","$0"]}"#,
                signed: [["signedTransactions"]]),
            ServerAPIExchange(
                "POST", "v1/notifications/history", sent: "{}",
                #"{"notificationHistory":[{"signedPayload":"$3","sendAttempts":[]}],"hasMore":false}"#,
                signed: [["notificationHistory", "signedPayload"]]),
            ServerAPIExchange(
                "GET", "v1/notifications/test/t", #"{"signedPayload":"$3"}"#, signed: [["signedPayload"]]),
            ServerAPIExchange("POST", "v1/transactions/1/finish", ""),
        ]
    }

    /// The JWS and bodies of answers about one app in the sandbox.
    enum ServerAPIForge {
        fileprivate static let app = "com.example.forge"

        /// The JWS that marks stand for. Of the first five, all may be in an answer, and none of the others: Xcode signed
        /// one, a stranger one, and three are about another app or subscription.
        private static let texts: [[UInt8]] = {
            let pki = GenuineJWS.pki
            var item = TransactionContents(), other = TransactionContents(), plan = RenewalInfoContents()
            (item.transactionID, item.originalTransactionID) = ("7", "7")
            other.bundleID = "com.example.other"
            plan.originalTransactionID = "8"
            var notification = NotificationContents()
            notification.data?.bundleID = "com.example.other"
            let xcode = GenuineJWS.texts[4], stranger = TransactionPKI(seed: 99).jws(TransactionContents())
            let acceptable = GenuineJWS.texts.prefix(4) + [pki.jws(item)]
            return acceptable + [xcode, stranger, pki.jws(other), pki.jws(notification), pki.jws(plan)]
        }()

        fileprivate static let acceptable = Set(texts.prefix(5).compactMap(identity))

        /// Returns the identity of a genuine JWS; nil for any other text.
        fileprivate static func identity(of text: [UInt8]) -> Fingerprint? {
            (try? GenuineJWS.verifier.verify(jws: text, at: GenuineJWS.now))?.jws.identity
        }

        /// Replaces the marks in a body.
        static func body(_ marked: some Collection<UInt8>) -> [UInt8] {
            let parts = marked.split(separator: UInt8(ascii: "$"), maxSplits: 32, omittingEmptySubsequences: false)
            return parts.dropFirst().reduce(into: Array(parts[0])) { body, part in
                let mark = part.first.map { Int($0) - 0x30 } ?? -1
                body += texts.indices.contains(mark) ? texts[mark] + part.dropFirst() : Array(part)
            }
        }

        fileprivate static func response(_ status: Int, retryAfter: String = "", _ body: [UInt8]) -> TransportResponse {
            TransportResponse(
                status: status, headers: [TransportHeader(name: "Retry-After", value: retryAfter)], body: body,
                httpVersion: .http2, connectionWasReused: false, took: .zero)
        }

        fileprivate static func reply(_ response: TransportResponse, to call: ServerAPICall) -> ServerAPIReply {
            let verifier = ServerAPIAnswerVerifier(
                verifier: GenuineJWS.verifier, bundleID: app, environment: .sandbox, now: GenuineJWS.now)
            return ServerAPIReply(response, ReplyHead(response, at: GenuineJWS.now), to: call, by: verifier)
        }

        /// The bodies of genuine answers, one for each exchange.
        static let bodies: [[UInt8]] = ServerAPIExchange.all.map { exchange in
            let body = body(Array(exchange.answer.utf8))
            guard case .answered = reply(response(200, body), to: exchange.call) else {
                preconditionFailure("an answer of the forge is not genuine")
            }
            return body
        }
    }

    extension FuzzTarget {
        /// Checks a reply of the Server API. Three bytes choose the kind of body, the call and the status; the rest of
        /// the first line is `Retry-After`. Then follows a body with marks for JWS, or changes to a genuine one.
        static func checkServerAPIReply(_ input: [UInt8]) throws {
            guard input.count >= 3 else { return }
            let call = Int(input[1]) % ServerAPIExchange.all.count, exchange = ServerAPIExchange.all[call]
            let lines = input.dropFirst(3).split(
                separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
            let rest = lines.count > 1 ? Array(lines[1]) : []
            var body = input[0] & 1 == 0 ? ServerAPIForge.body(rest) : ServerAPIForge.bodies[call]
            if input[0] & 1 == 1 { for change in Change.list(in: rest) { change.apply(to: &body) } }
            let response = ServerAPIForge.response(
                statuses[Int(input[2]) % statuses.count], retryAfter: String(decoding: lines[0], as: UTF8.self), body)
            try ServerAPIForge.reply(response, to: exchange.call).check(response, to: exchange)
        }

        private static let statuses = [200, 202, 302, 400, 401, 404, 429, 500, 503]
    }

    extension ServerAPIReply {
        /// Checks that a reply has Apple's status and body, and pauses of an hour at most.
        fileprivate func check(_ response: TransportResponse, to exchange: ServerAPIExchange) throws {
            let status = response.status, isSuccess = (200...299).contains(status)
            let isRefusal = (400...499).contains(status) && ![401, 429].contains(status)
            switch self {
            case .answered(let answer):
                try expect(isSuccess && answer.httpStatus == status, "an answer with status \(status)")
                try expect(answer.body == response.body, "an answer with another body")
                try answer.check(exchange)
            case .refused(_, let httpStatus, let body):
                try expect(isRefusal && httpStatus == status, "refused with status \(status)")
                try expect(body == response.body, "a refusal with another body")
            case .refusedWithoutCode: try expect(isRefusal, "refused with status \(status)")
            case .unauthorized: try expect(status == 401, "unauthorized with status \(status)")
            case .throttled(let span):
                try expect(status == 429 && (.seconds(1)...RetryAfter.maximum).contains(span), "throttled for \(span)")
            case .unavailable(let span):
                try expect(status == 503 && span > .zero && span <= RetryAfter.maximum, "unavailable for \(span)")
            case .contradiction: try expect(isSuccess, "a contradiction with status \(status)")
            case .failed(let failure, let mayHaveBeenSent):
                try expect((failure == .unusableAnswer) == isSuccess, "\(failure) with status \(status)")
                try expect(mayHaveBeenSent, "a reply to a call that was not sent")
            }
        }
    }

    extension ServerAPIAnswer {
        /// Checks that all JWS in an answer are genuine, of the app and the sandbox, and that the answer's values are
        /// those of the JWS.
        fileprivate func check(_ exchange: ServerAPIExchange) throws {
            let operation = exchange.call.operation
            guard !body.isEmpty else { return try expect(operation.effect != .reads, "an answer without a body") }
            let json = try JSONValue(parsing: body, limits: ServerAPIAnswerVerifier.Limits.json)
            let signed = exchange.signed.flatMap { json.texts(at: $0[...]) }.map { text in
                ServerAPIForge.identity(of: Array(text.utf8))
            }
            let areAcceptable = signed.allSatisfy { $0.map(ServerAPIForge.acceptable.contains) ?? false }
            try expect(areAcceptable, "an answer with a JWS that Apple did not sign for this app")
            let read =
                transactions.map(\.jws) + renewals.map(\.renewalInfo.jws) + [appTransaction?.jws].compactMap(\.self)
            let isKept = ![.notificationHistory, .testNotificationStatus].contains(operation)
            try expect(read.map(\.identity) == (isKept ? signed : []), "values that are not those of the JWS")
            if operation == .transactionInfo {
                let ids = transactions.map(\.transactionID)
                try expect(ids == [exchange.call.transactionID], "another transaction than was asked for")
            }
            try expect([nil, ServerAPIForge.app].contains(json["bundleId"]?.string), "an answer about another app")
            try expect([nil, "Sandbox"].contains(json["environment"]?.string), "an answer of another environment")
        }
    }

    extension JSONValue {
        /// Returns the texts at a path of names, through all elements of lists.
        fileprivate func texts(at path: ArraySlice<String>) -> [String] {
            if let elements { return elements.flatMap { $0.texts(at: path) } }
            guard let name = path.first else { return [string].compactMap(\.self) }
            return self[name]?.texts(at: path.dropFirst()) ?? []
        }
    }
#endif
