// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

/// The proxy in a whole gateway, in front of a simulated Apple that checks tokens.
@Suite("The proxy in a gateway", .timeLimit(.patient))
struct AppleProxyGatewayTests {
    private static let app = "com.example.shop"
    private static let id = AppleSimulator.transactionID(ofCustomer: 0)
    private static let base = "/v1/apple/\(app)/production/inApps"

    @Test func `a backend without a key reads Apple's answer, in the environment of the path only`() async throws {
        try await Self.with { site in
            let found = try await site.ask("GET \(Self.base)/v1/transactions/\(Self.id)")
            #expect(found?.status == 200 && found?.body.contains("signedTransactionInfo") == true)
            #expect(found?.headers["content-type"] == "application/json")
            #expect(found?.headers["gateway-source"] == "app_store_server_api")
            let head = try await site.ask("HEAD \(Self.base)/v1/transactions/\(Self.id)")
            #expect(head?.status == 200 && head?.body.isEmpty == true)
            let elsewhere = try await site.ask("GET /v1/apple/\(Self.app)/sandbox/inApps/v1/transactions/\(Self.id)")
            #expect(elsewhere?.status == 404 && elsewhere?.body.contains("4040010") == true)
            #expect(elsewhere?.headers["content-type"] == "application/json")
            #expect(site.calls("production") == 2 && site.calls("sandbox") == 1)
        }
    }

    @Test func `a change is carried out once, and logged without its customer`() async throws {
        try await Self.with { site in
            let body = #"{"appAccountToken":"6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"}"#
            let target = "PUT \(Self.base)/v1/transactions/\(Self.id)/appAccountToken"
            let answer = try await site.ask(target, body: body)
            #expect(answer?.status == 200 && answer?.body.isEmpty == true && answer?.headers["content-type"] == nil)
            #expect(site.calls("production") == 1)
            let lines = site.gateway.log.containing("Change requested of Apple")
            #expect(lines.count == 1 && lines[0].contains(#""operation":"set_app_account_token""#))
            #expect(lines[0].contains(#""purge":"done""#) && lines[0].contains(#""request_id":"#))
            #expect(site.gateway.log.containing(Self.id).isEmpty)
        }
    }

    @Test func `a request outside the closed list, or without its right, never reaches Apple`() async throws {
        try await Self.with { site in
            for (method, path, status) in Self.refused {
                let answer = try await site.ask("\(method) \(Self.base)\(path)")
                #expect(answer?.status == status, "\(method) \(path): \(answer?.body ?? "")")
                // The edge refuses a long target before it knows the path.
                let isOfProxy = status != 414
                let type = isOfProxy ? "application/json" : "application/problem+json"
                #expect(answer?.headers["content-type"] == type, "\(method) \(path)")
                #expect(answer?.body.contains(#""errorCode":\#(status)"#) == isOfProxy, "\(method) \(path)")
            }
            #expect(site.calls("production") + site.calls("sandbox") == 0)
        }
    }

    private static let refused = [
        ("GET", "/../inApps/v1/transactions/\(id)", 404), ("GET", "/v1/transactions/%2e%2e", 400),
        ("GET", "/v1/transactions%2F\(id)", 404), ("GET", "//v1/transactions/\(id)", 404),
        ("GET", "/v1//transactions/\(id)", 404), ("GET", "/v1/transactions/\(id)//", 404),
        ("GET", "/v1/transactions/\(id)?host=evil.example", 400), ("GET", "/v1/transactions/\(id)%0d%0aHost:x", 400),
        ("GET", "/v1/transactions/\(String(repeating: "1", count: 9000))", 414),
        ("DELETE", "/v1/transactions/\(id)", 405),
        ("POST", "/v1/transactions/\(id)", 405), ("POST", "/v1/notifications/test", 403),
        ("DELETE", "/v1/messaging/realtime/url", 403), ("PATCH", "/v1/transactions/\(id)", 405),
    ]

    @Test(arguments: ["PUT \(base)/v1/transactions/\(id)/appAccountToken", "POST \(base)/v1/notifications/history"])
    func `a body beyond 64 KiB that is no image is refused`(line: String) async throws {
        try await Self.with { site in
            let answer = try await site.ask(line, body: String(repeating: " ", count: 65_537))
            #expect(answer?.status == 413 && answer?.body.contains(#""errorCode":4130000"#) == true)
            #expect(site.calls("production") == 0)
        }
    }

    @Test(arguments: [
        "\(base)/v1/transactions/\(id)", "\(base)/v1/transactions/\(id)/",
        "/v1/apple/\(app)/production//inApps/v1/transactions/\(id)",
    ])
    func `Apple's libraries send a token for Apple, and slashes of their base URL`(path: String) async throws {
        try await Self.with { site in
            let fields = ["X-API-Key: \(site.key.exposed)", "Authorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.c2ln"]
            let answer = try await site.gateway.ask("GET \(path)", fields)
            #expect(answer?.status == 200 && answer?.body.contains("signedTransactionInfo") == true)
            // Without a key of the gateway's, the token for Apple opens nothing.
            let stranger = try await site.gateway.ask("GET \(path)", [fields[1]])
            #expect(stranger?.status == 401 && stranger?.headers["content-type"] == "application/json")
            #expect(site.calls("production") == 1)
        }
    }

    // MARK: - Steps

    private struct Site {
        let gateway: RunningGateway
        let apple: AppleSimulator
        let key: APIKey

        func ask(_ line: String, body: String = "") async throws -> RawAnswer? {
            let fields = ["Content-Type: application/json", "X-API-Key: \(key.exposed)"]
            guard line.hasPrefix("HEAD ") else { return try await gateway.ask(line, fields, body: body) }
            return try await RawConnection.with(port: gateway.port) { connection in
                let head = ["\(line) HTTP/1.1", "Host: x"] + fields
                try await connection.send(head.joined(separator: "\r\n") + "\r\n\r\n")
                return try await connection.answer(toHead: true)
            }
        }

        /// Returns the number of calls that reached a server of Apple's.
        func calls(_ environment: String) -> Int {
            (apple.stats.serverApi.calls[environment] ?? [:]).values.flatMap(\.values).reduce(0, +)
        }
    }

    private static func with(_ test: (Site) async throws -> Void) async throws {
        let configuration = AppleSimulator.Configuration(pki: Forged.pki)
        let apple = try await AppleSimulator.start(configuration)
        try apple.addCustomers(1, ofApp: app, at: .production)
        let folder = try TemporaryFolder(), key = APIKey.random()
        try await RunningGateway.withClient(
            key, "apps: [\(app)]", "apple: [read, write]", rest: folder.serverAPIKey(),
            trusting: [configuration.transactionPKI.root.pem]
        ) {
            $0.apple.isEnabled = true
            $0.apple.serverAPI.productionURL = UpstreamBaseURL(apple.productionBaseURL)
            $0.apple.serverAPI.sandboxURL = UpstreamBaseURL(apple.sandboxBaseURL)
        } _: { gateway in
            try await test(Site(gateway: gateway, apple: apple, key: key))
        }
        await apple.stop()
    }
}
