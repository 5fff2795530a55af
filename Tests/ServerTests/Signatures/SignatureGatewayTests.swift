// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import FoundationEssentials
import Testing
import TestSupport

@testable import Clients
@testable import Server
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
            let path = "POST /v1/apple/\(Self.app)/signatures/promotional-offer"
            let fields = ["Content-Type: application/json", "X-API-Key: \(key.exposed)"]
            let answer = try await gateway.ask(path, fields, body: Self.offer)
            #expect(answer?.status == 200 && answer?.headers["cache-control"] == "no-store")
            #expect(answer?.body.hasPrefix(#"{"jws":"eyJ"#) == true, "\(answer?.body ?? "")")
            #expect(gateway.log.containing("Signature for StoreKit").count == 1)
            let other = Self.offer.replacing("comeback", with: "other")
            let refused = try await gateway.ask(path, fields, body: other)
            #expect(refused?.status == 403 && refused?.headers["content-type"] == "application/problem+json")
            let stranger = try await gateway.ask(path, [fields[0]], body: Self.offer)
            #expect(stranger?.status == 401)
            #expect(gateway.log.containing("Signature for StoreKit").count == 1)
            let page = try await gateway.send(
                "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: gateway.adminPort)
            for outcome in ["signed", "refused"] {
                let series = "receipt_gateway_signatures_total{kind=\"promotional-offer\",outcome=\"\(outcome)\"} 1\n"
                #expect(page?.body.contains(series) == true)
            }
        }
    }

    @Test func `paths beside it are still the proxy's`() async throws {
        try await Self.with { gateway, key in
            let fields = ["Content-Type: application/json", "X-API-Key: \(key.exposed)"]
            for path in ["\(Self.app)/signatures", "\(Self.app)/production/inApps/v1/signatures"] {
                let answer = try await gateway.ask("POST /v1/apple/\(path)", fields, body: Self.offer)
                #expect(answer?.status == 404 && answer?.headers["content-type"] == "application/json")
            }
        }
    }

    private static func with(_ test: (RunningGateway, APIKey) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(component: "signatures-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let keyFile = folder.appending(component: "key.p8"), file = folder.appending(component: "clients.yaml")
        try ServerAPIKeyFixture.pem().write(to: keyFile, atomically: true, encoding: .utf8)
        let key = APIKey.random(), pepper = Secret("a pepper for the tests")
        try """
        server_api:
          issuer_id: \(ServerAPIKeyFixture.issuerID)
          key_id: \(ServerAPIKeyFixture.keyID)
          private_key_file: \(keyFile.path)
        clients:
          - name: shop
            apps: [\(app)]
            may: [sign]
            signatures: \(SignatureSite.scope)
            keys:
        \(key.clientsFileSnippet(hasher: KeyHasher(pepper: pepper)))
        """.write(to: file, atomically: true, encoding: .utf8)
        try await RunningGateway.with {
            ($0.clientsFile, $0.apiKeyPepper) = (file.path, pepper)
        } _: { gateway in
            try await test(gateway, key)
        }
    }
}
