// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// The outcome of an answer.
struct OutcomeTests {
    private static func body(_ source: String, _ cache: String) -> String {
        #"{"verdict":"genuine","environment":"Sandbox","provenance":{"source":"\#(source)","cache":"\#(cache)","#
            + #""verified_at":"2026-11-21T18:00:00Z"#
    }

    private static let answers: [(status: Int, cache: String, body: String, outcome: LoadOutcome)] = [
        (200, "", body("local", "near"), .hitNear), (200, "", body("apple", "near"), .hitNear),
        (200, "receipt-gateway; hit; ttl=3", body("apple", "shared"), .hitShared),
        (200, "receipt-gateway; hit", body("apple", "stale"), .stale),
        (200, "receipt-gateway; fwd=miss; stored", body("apple", "miss"), .upstream),
        (200, "receipt-gateway; fwd=miss; collapsed; ttl=3", body("apple", "miss"), .collapsed),
        (200, "", body("local", "miss"), .local), (200, "", body("local", "miss") + #"","degraded":true"#, .degraded),
        (200, "a; fwd=miss; collapsed", body("local", "miss") + #"","degraded":true,"#, .degraded),
        (200, "", body("local", "miss") + #"","degraded":false"#, .local),
        (200, "", body("notification", "miss"), .local),
        (200, "", body("notification", "miss") + #"","degraded":true"#, .degraded),
        (200, "", body("apple", "stale") + #"","degraded":true"#, .stale),
        (200, "", #"{"verdict":"rejected","reason":"signature_invalid","#, .rejected),
        (200, "", #"{"verdict":"undecided","reason":"upstream_timeout","#, .undecided),
        (200, "", #"{"status":0,"environment":"Sandbox"}"#, .ok), (200, "", #"{"status":21006,"receipt":{"#, .ok),
        (200, "", #"{"status":21003}"#, .rejected), (200, "", #"{"status":21002}"#, .rejected),
        (200, "", #"{"status":21005}"#, .undecided), (200, "", #"{"status":21199}"#, .undecided),
        (200, "", #"{"status":21004"#, .rejected), (200, "", #"{"status":"#, .ok), (200, "", #"{"status":"up"}"#, .ok),
        (200, "", #"{"status":210039}"#, .ok), (200, "", #"{ "status":21003}"#, .ok),
        (204, "", "", .ok),
        (200, "nginx; hit", "hello", .hitShared), (200, "", #"{"verdict":""#, .ok),
        (429, "", body("local", "near"), .shed), (503, "", "", .shed), (301, "", "", .refused), (404, "", "", .refused),
        (500, "", body("local", "near"), .error), (504, "", "", .error),
    ]

    @Test(arguments: answers)
    func `status, Cache-Status and the body's beginning decide`(
        status: Int, cache: String, body: String, outcome: LoadOutcome
    ) {
        let field = Array(cache.utf8), opening = Array(body.utf8)
        #expect(
            LoadOutcome(status: status, cache: AnsweredCacheStatus(field: field.span), opening: opening.span) == outcome
        )
    }

    @Test func `an answer in Apple's form is degraded if its header says so`() {
        let body = Array(#"{"status":0}"#.utf8)
        #expect(LoadOutcome(status: 200, cache: .degraded, opening: body.span) == .degraded)
    }

    @Test func `outcomes have a place each, in the order of all`() {
        #expect(LoadOutcome.allCases.map(\.index) == Array(LoadOutcome.allCases.indices))
    }

    @Test(arguments: [("close", true), ("keep-alive, Close", true), ("closed", false), ("x-close", false), ("", false)])
    func `words of a list are whole words`(value: String, isClosing: Bool) {
        let bytes = Array(value.utf8)
        #expect(bytes.span.containsWord("close") == isClosing)
    }
}
