// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import API
@testable import HTTPServer

@Suite("Prefer and Idempotency-Key")
struct PreferenceTests {
    @Test(
        arguments: [
            ([], false, nil), ([""], false, nil), (["respond-async"], true, nil), (["Respond-Async"], true, nil),
            (["respond-async, wait=5"], true, 5), (["respond-async", "wait=5"], true, 5), (["wait=5"], false, 5),
            (["wait = \"7\" ; x=1, respond-async; y"], true, 7), (["respond-async=\"\""], true, nil),
            (["respond-async=false"], false, nil), (["wait=5, wait=9"], false, 5), (["wait=x, wait=9"], false, nil),
            (["wait=600"], false, 60), (["wait=99999999999999999999"], false, 60), (["wait=-1"], false, nil),
            (["wait"], false, nil), (["handling=\"a, respond-async\""], false, nil),
            (["handling=\"a\\\", respond-async\", wait=3"], false, 3), (["a=\"b, respond-async"], false, nil),
            ([",, ,respond-async,"], true, nil), (["a;respond-async"], false, nil), (["respond-async=1=2"], false, nil),
        ] as [([String], Bool, Int64?)])
    func `preferences are read`(fields: [String], respondsAsync: Bool, seconds: Int64?) {
        let preference = Preference(fields)
        #expect(preference.respondsAsync == respondsAsync)
        #expect(preference.wait?.components.seconds == seconds)
    }

    @Test func `no more preferences are read than the limit`() {
        let others = (1..<Preference.Limits.preferences).map { "p\($0)" }
        #expect(Preference([(others + ["respond-async"]).joined(separator: ",")]).respondsAsync)
        #expect(!Preference([(others + ["p", "respond-async"]).joined(separator: ",")]).respondsAsync)
    }

    @Test func `a key has visible characters, up to 255`() throws {
        #expect(try IdempotencyKey([]) == nil)
        for text in ["a", "\"8e03978e-40d5\"", String(repeating: "~", count: 255)] {
            #expect(try IdempotencyKey([text])?.text == text)
        }
        for fields in [[""], ["a b"], ["ä"], ["a\t"], [String(repeating: "x", count: 256)], ["a", "a"]] {
            #expect(throws: Problem.invalidIdempotencyKey) { try IdempotencyKey(fields) }
        }
    }
}
