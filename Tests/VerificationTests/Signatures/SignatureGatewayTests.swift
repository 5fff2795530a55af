// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// Signatures for StoreKit by a whole gateway, over HTTP.
@Suite("Signatures in a gateway", .timeLimit(.patient))
struct SignatureGatewayTests {
    private static let app = SignatureSite.app
    private static let offer = #"{"product_id":"monthly","offer_identifier":"comeback"}"#

    @Test func `a client gets signatures for the offers in its list, and only a key of the gateway's opens the route`()
        async throws
    {
        try await Self.with { gateway, key in
            let path = "/v1/apple/\(Self.app)/signatures/promotional-offer"
            let answer = try await gateway.post(path, as: key, body: Self.offer)
            #expect(answer?.status == 200 && answer?.headers["cache-control"] == "no-store")
            #expect(answer?.body.hasPrefix(#"{"jws":"eyJ"#) == true, "\(answer?.body ?? "")")
            #expect(gateway.log.containing("Signature for StoreKit").count == 1)
            let other = Self.offer.replacing("comeback", with: "other")
            let refused = try await gateway.post(path, as: key, body: other)
            #expect(refused?.status == 403 && refused?.headers["content-type"] == "application/problem+json")
            let stranger = try await gateway.post(path, body: Self.offer)
            #expect(stranger?.status == 401)
            #expect(gateway.log.containing("Signature for StoreKit").count == 1)
            let page = try await gateway.scrape()
            for outcome in ["signed", "refused"] {
                let series = "receipt_gateway_signatures_total{kind=\"promotional-offer\",outcome=\"\(outcome)\"} 1\n"
                #expect(page.contains(series))
            }
        }
    }

    @Test func `paths beside it are still the proxy's`() async throws {
        try await Self.with { gateway, key in
            for path in ["\(Self.app)/signatures", "\(Self.app)/production/inApps/v1/signatures"] {
                let answer = try await gateway.post("/v1/apple/\(path)", as: key, body: Self.offer)
                #expect(answer?.status == 404 && answer?.headers["content-type"] == "application/json")
            }
        }
    }

    private static func with(_ test: (RunningGateway, APIKey) async throws -> Void) async throws {
        let folder = try TemporaryFolder(), key = APIKey.random()
        try await RunningGateway.withClient(
            key, "apps: [\(app)]", "may: [sign]", "signatures: \(SignatureSite.scope)", rest: folder.serverAPIKey()
        ) {
            try await test($0, key)
        }
    }
}
