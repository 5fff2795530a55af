// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Receipts
import Testing

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

struct CacheFieldsTests {
    private static let now = Timestamp(millisecondsSince1970: 1_000_000_000)
    private static func end(_ seconds: Int64) -> Timestamp { now.advanced(by: .seconds(seconds)) }

    private static let known = CachedResult(.accountNotFound, fetchedAt: now, freshUntil: end(412))
    private static let passing = CachedResult(.accountNotFound, fetchedAt: now, freshUntil: now)

    @Test(
        arguments: [
            (nil, [], nil), (.hit(freshUntil: end(412)), [], "hit; ttl=412"),
            (.hit(freshUntil: end(0)), [], "hit; ttl=0"), (.hit(freshUntil: end(-12)), [], "hit; ttl=-12"),
            (.forwarded(.miss, found: known, isCollapsed: false), [], "fwd=miss; fwd-status=200; stored; ttl=412"),
            (
                .forwarded(.miss, found: known, isCollapsed: true), [],
                "fwd=miss; fwd-status=200; stored; collapsed; ttl=412"
            ),
            (.forwarded(.stale, found: passing, isCollapsed: false), [], "fwd=stale; fwd-status=200"),
            (
                .forwarded(.request, found: known, isCollapsed: false), [],
                "fwd=request; fwd-status=200; stored; ttl=412"
            ),
            (.forwarded(.stale), [.upstreamServerError], "fwd=stale; fwd-status=503"),
            (.forwarded(.stale), [.circuitOpen], "fwd=stale; fwd-status=503"),
            (.forwarded(.miss), [.upstreamTimeout], "fwd=miss; fwd-status=504"),
            (.forwarded(.miss, isCollapsed: true), [.upstreamSlow], "fwd=miss; fwd-status=504; collapsed"),
            (.forwarded(.miss), [.upstreamUnreachable], "fwd=miss; fwd-status=502"),
            (.forwarded(.miss), [.upstreamPaused], "fwd=miss; fwd-status=429"),
        ] as [(CacheStatus?, [DegradedReason], String?)])
    func `the Cache-Status field follows RFC 9211`(
        status: CacheStatus?, reasons: [DegradedReason], field: String?
    ) {
        let answer = Answer(
            verdict: .undecided(.upstreamDidNotAnswer),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: Self.now, degradedReasons: reasons),
            freshUntil: Self.now, cacheStatus: status)
        let reply = Reply(body: []).withCacheFields(of: CacheProvenance(answer), at: Self.now)
        #expect(reply.added == Self.fields(.cacheStatus, field.map { "receipt-gateway; \($0)" }))
    }

    @Test(
        arguments: [(.apple, -5, "0"), (.apple, 0, "0"), (.apple, 61, "61"), (.local, 61, nil)]
            as [(Provenance.Source, Int64, String?)])
    func `the age is that of Apple's answer`(source: Provenance.Source, seconds: Int64, age: String?) {
        let answer = Answer(
            verdict: .rejected(.accountNotFound),
            provenance: Provenance(source: source, cache: .shared, verifiedAt: Self.now),
            freshUntil: Self.now)
        let reply = Reply(body: []).withCacheFields(of: CacheProvenance(answer), at: Self.end(seconds))
        #expect(reply.added == Self.fields(.age, age))
    }

    private static func fields(_ name: HTTPField.Name, _ value: String?) -> [HTTPField] {
        value.map { [HTTPField(name: name, value: $0)] } ?? []
    }
}
