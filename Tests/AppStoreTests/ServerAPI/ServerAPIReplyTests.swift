// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPClient
import Receipts
import Resilience
import Testing

@testable import AppStore

/// The consequences of replies, without a network.
struct ServerAPIReplyTests {
    struct Expected: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: ServerAPIReply
        let call: ServerAPICallOutcome
        let outcome: UpstreamOutcome
        let breaker: Outcome
        var isRetried = false
        var provesKey = false
    }

    private static let took = Duration.seconds(1)
    private static let success = Outcome.success(took: took)
    private static let soft = Outcome.failure(.soft, took: took)
    private static let hard = Outcome.failure(.hard, took: took)

    private static let replies: [Expected] = [
        .init(
            testDescription: "an answer", reply: .answered(ServerAPIAnswer(httpStatus: 200, body: [])),
            call: .answered, outcome: .answered, breaker: success, provesKey: true),
        refusal(4_000_006, .refused), refusal(4_040_010, .notFound), refusal(4_030_004, .refused),
        refusal(4_040_001, .notFound, .refused(.accountNotFound)), refusal(4_040_003, .notFound),
        refusal(4_040_002, .notFound, isRetried: true), refusal(4_040_004, .notFound, isRetried: true),
        refusal(4_040_006, .notFound, isRetried: true),
        .init(
            testDescription: "4xx without a code", reply: .refusedWithoutCode, call: .refused,
            outcome: .failed(.requestRefused), breaker: success),
        .init(
            testDescription: "401", reply: .unauthorized, call: .unauthorized,
            outcome: .refused(.notAuthenticated), breaker: .neutral),
        .init(
            testDescription: "429", reply: .throttled(.seconds(9)), call: .throttled, outcome: .throttled,
            breaker: .neutral),
        .init(
            testDescription: "503 with a wait", reply: .unavailable(.seconds(9)), call: .serverError,
            outcome: .throttled, breaker: .throttled),
        .init(
            testDescription: "a contradiction", reply: .contradiction(.otherApp), call: .tampered, outcome: .answered,
            breaker: soft),
        failure(.serverError, .serverError, soft, isRetried: true),
        failure(.unusableAnswer, .unusable, soft, isRetried: true),
        failure(.timeout, .failed, hard, isRetried: true), failure(.reset, .failed, hard, isRetried: true),
        failure(.unreachable, .failed, hard, isRetried: true), failure(.tls, .failed, hard),
        failure(.requestRefused, .refused, soft), failure(.stopping, .failed, .neutral),
    ]

    private static func refusal(
        _ code: Int64, _ call: ServerAPICallOutcome, _ outcome: UpstreamOutcome = .answered, isRetried: Bool = false
    ) -> Expected {
        Expected(
            testDescription: "\(code)",
            reply: .refused(ServerAPIError(code: code), httpStatus: Int(code / 10_000), body: []), call: call,
            outcome: outcome, breaker: success, isRetried: isRetried, provesKey: true)
    }

    private static func failure(
        _ failure: UpstreamFailure, _ call: ServerAPICallOutcome, _ breaker: Outcome, isRetried: Bool = false
    ) -> Expected {
        Expected(
            testDescription: failure.rawValue, reply: .failed(failure, mayHaveBeenSent: true), call: call,
            outcome: .failed(failure), breaker: breaker, isRetried: isRetried)
    }

    @Test(arguments: replies)
    func `each reply has its consequences`(_ expected: Expected) {
        let reply = expected.reply
        #expect(reply.callOutcome == expected.call && reply.outcome == expected.outcome)
        #expect(reply.guardOutcome(after: Self.took) == expected.breaker)
        #expect(reply.mayBeRetried(.reads) == expected.isRetried && reply.provesKey == expected.provesKey)
    }

    @Test(arguments: replies, [ServerAPIOperation.Effect.writes, .writesForMany])
    func `a write that Apple may have is never repeated`(_ expected: Expected, effect: ServerAPIOperation.Effect) {
        #expect(!expected.reply.mayBeRetried(effect))
    }

    @Test(
        arguments: [
            (.connect, true), (.resolve, true), (.timeout(.connecting), true), (.timeout(.answering), false),
            (.reset, false), (.tlsHandshake, false), (.tooLarge, false), (.protocolViolation, false),
            (.proxy, false), (.cancelled, false), (.shuttingDown, false), (.internal(code: 7), false),
        ] as [(TransportError, Bool)])
    func `a write is repeated only if no byte of it was sent`(error: TransportError, isRepeated: Bool) {
        #expect(ServerAPIReply(error).mayBeRetried(.writes) == isRepeated)
    }

    @Test(
        arguments: [
            (#"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#, 4_040_010),
            (#"{"errorMessage":"x","errorCode":4000006}"#, 4_000_006), (#"{"errorCode":"4040010"}"#, nil),
            (#"{"errorCode":404.5}"#, nil), ("{}", nil), ("", nil), ("<html>", nil), ("[4040010]", nil),
            (#"{"errorCode":1,"errorCode":2}"#, nil), (#"{"errorCode":99999999999999999999}"#, nil),
        ] as [(String, Int64?)])
    func `an error has the code of its body`(body: String, code: Int64?) {
        #expect(ServerAPIError(parsing: Array(body.utf8))?.code == code)
    }
}

/// The meaning of several hosts' refusals.
struct HostRefusalsTests {
    @Test(
        arguments: [
            ([.unauthorized(nil), .unauthorized(nil)], "server_api_key_rejected", true),
            ([.unauthorized(nil)], "server_api_key_rejected", true),
            ([.notFound, .unauthorized(nil)], "server_api_key_rejected", false),
            ([.accountNotFound, .unauthorized(nil)], "server_api_key_rejected", false),
            ([.unauthorized(nil), .notFound], "transaction_not_found", false),
            ([.notFound, .notFound], "transaction_not_found", false), ([.notFound], "transaction_not_found", false),
            ([.notFound, .accountNotFound], "transaction_not_found", false),
            ([.accountNotFound, .notFound], "account_not_found", false),
            ([.unauthorized(nil), .accountNotFound], "account_not_found", false),
            ([.accountNotFound], "account_not_found", false),
        ] as [([HostRefusals.Refusal], String, Bool)])
    func `refusals have one result`(refused: [HostRefusals.Refusal], result: String, isRejected: Bool) {
        let key = ServerAPISamples.key
        var refusals = HostRefusals()
        for (refusal, environment) in zip(refused, UpstreamEnvironment.allCases) {
            refusals.append(refusal.isUnauthorized ? .unauthorized(key) : refusal, of: environment)
        }
        #expect(refusals.result.line == result)
        let rejections = refusals.rejections
        #expect(
            rejections.map(\.environment)
                == (isRejected ? Array(UpstreamEnvironment.allCases.prefix(refused.count)) : []))
        #expect(rejections.allSatisfy { $0.key == key })
    }

    @Test(
        arguments: [
            (4_040_001, .accountNotFound), (4_040_003, .notFound), (4_040_005, .notFound), (4_040_010, .notFound),
            (4_040_019, .notFound), (4_040_002, nil), (4_040_004, nil), (4_040_006, nil), (4_000_006, nil),
            (4_040_007, nil), (4_040_008, nil), (4_000_000, nil), (4_030_004, nil), (4_290_000, nil), (5_000_001, nil),
        ] as [(Int64, HostRefusals.Refusal?)])
    func `another host is asked after these codes only`(code: Int64, refusal: HostRefusals.Refusal?) {
        #expect(HostRefusals.Refusal(ServerAPIError(code: code)) == refusal)
    }
}

extension UpstreamResult {
    /// The result by the names of the API.
    var line: String {
        switch self {
        case .answered(let answer): "answered \(answer.environment.rawValue)"
        case .accountNotFound: "account_not_found"
        case .unknownTransaction(let reason): reason.rawValue
        case .alias: "alias"
        case .unanswered(let reason): reason.rawValue
        }
    }

    var answer: UpstreamAnswer? {
        if case .answered(let answer) = self { answer } else { nil }
    }
}
