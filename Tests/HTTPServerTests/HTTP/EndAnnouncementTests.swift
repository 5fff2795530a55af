// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Receipts
import Resilience
import Testing
import TestSupport

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings

@Suite("Deprecation, Sunset and Link fields", .timeLimit(.patient))
struct EndAnnouncementTests {
    private static let sunset = Timestamp(millisecondsSince1970: 1_814_313_600_000)  // 2027-06-30
    private static let deprecation = Timestamp(millisecondsSince1970: 1_782_777_600_999)  // 2026-06-30

    // MARK: - Fields

    @Test func `known dates and links are announced in standard form`() {
        let fields = announced(
            LifecycleDates(deprecation: Self.deprecation, sunset: Self.sunset),
            [
                LifecycleLink(.sunset, target: "https://apple.example/end"),
                LifecycleLink(.successorVersion, target: "https://apple.example/new"),
            ])
        #expect(fields[.deprecation] == "@1782777600")
        #expect(fields[.sunset] == "Wed, 30 Jun 2027 00:00:00 GMT")
        #expect(
            fields[.link]
                == #"<https://apple.example/end>; rel="sunset", <https://apple.example/new>; rel="successor-version""#)
    }

    @Test func `unknown dates are not announced`() {
        #expect(announced(LifecycleDates()) == [:])
        let sunset = announced(LifecycleDates(sunset: Self.sunset))
        #expect(sunset[.deprecation] == nil && sunset[.sunset] != nil && sunset[.link] == nil)
        let link = announced(LifecycleDates(), [LifecycleLink(.deprecation, target: "https://a.example/")])
        #expect(link[.deprecation] == nil && link[.sunset] == nil && link[.link] != nil)
    }

    @Test func `a deprecation without a date is announced as past`() {
        #expect(announced(LifecycleDates(deprecation: Timestamp(millisecondsSince1970: 0)))[.deprecation] == "@0")
    }

    @Test func `the sunset is never earlier than the deprecation`() {
        let fields = announced(LifecycleDates(deprecation: Self.sunset, sunset: Self.deprecation))
        #expect(fields[.deprecation] == "@1782777600" && fields[.sunset] == "Tue, 30 Jun 2026 00:00:00 GMT")
    }

    @Test(arguments: [(0, 1), (1, 0)])
    func `links stay within the limit of a field`(excess: Int, expectedCount: Int) {
        let frame = #"<https://a.example/>; rel="sunset""#.utf8.count
        let padding = String(repeating: "x", count: UpstreamLifecycle.State.maximumLinkBytes - frame + excess)
        let link = LifecycleLink(.sunset, target: "https://a.example/" + padding)
        #expect((announced(LifecycleDates(), [link])[.link] == nil ? 0 : 1) == expectedCount)
        let short = LifecycleLink(.sunset, target: "https://b.example/")
        let both = announced(LifecycleDates(), [link, short])[.link]
        #expect(both?.contains("b.example") == (expectedCount == 0))
    }

    private func announced(_ dates: LifecycleDates, _ links: [LifecycleLink] = []) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields.announce(UpstreamLifecycle.State(dates: dates, links: links))
        return fields
    }

    // MARK: - Routes

    @Test(arguments: [(Provenance.Source.apple, true), (.local, false), (nil, false)])
    func `a verdict announces the end if it came from Apple, the drop-in always`(
        source: Provenance.Source?, announces: Bool
    ) {
        #expect(VerdictEndpoint().announcesEnd(withAnswerFrom: source) == announces)
        #expect(AppleFormEndpoint().announcesEnd(withAnswerFrom: source))
    }

    @Test func `Apple's announcement about production takes effect with the next response`() async throws {
        let lifecycle = UpstreamLifecycle()
        let route = Route.verifyReceiptByGet(announcing: lifecycle)
        func sunset() async throws -> String? {
            let step = try route.handler(try .forTests(), ReservedBody(nil, nil))
            return try await step.value().fields[.sunset]
        }
        lifecycle.record(LifecycleDates(sunset: Self.sunset), links: [], of: .sandbox)
        #expect(try await sunset() == nil)
        lifecycle.record(LifecycleDates(sunset: Self.sunset), links: [], of: .production)
        #expect(try await sunset() != nil)
    }

    @Test func `the status announces the end, a verdict from the receipt alone does not`() async throws {
        try await RunningGateway.with {
            ($0.apple.deprecation, $0.apple.sunset) = (Self.deprecation, Self.sunset)
        } _: { gateway in
            let status = try await gateway.ask("GET /v1/status")
            #expect(status?.headers["sunset"] == "Wed, 30 Jun 2027 00:00:00 GMT")
            #expect(status?.headers["deprecation"] == "@1782777600")
            let verdict = try await gateway.post("/v1/verify", body: #"{"receipt":"AQID"}"#)
            #expect(verdict?.status == 200)
            #expect(verdict?.headers["sunset"] == nil && verdict?.headers["deprecation"] == nil)
        }
    }
}
