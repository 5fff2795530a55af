// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// The plugins' routes over HTTP: keys, permissions, CORS, and what is wrong in the words of each protocol.
@Suite("The plugins' routes", .timeLimit(.patient))
struct PluginRouteTests {
    private static let json = "Content-Type: application/json;charset=UTF-8"
    private static let paths = PluginProtocol.allCases.map(\.path)

    /// A body with a genuine transaction for each path.
    private static func body(for path: String, _ contents: TransactionContents = TransactionContents()) -> String {
        let jws = SignedSamples.text(contents)
        return path == PluginProtocol.openIAP.path
            ? #"{"store":"apple","jws":"\#(jws)"}"#
            : #"{"id":"com.example.forge","type":"application","transaction":{"type":"apple-sk2","jwsRepresentation":"\#(jws)"}}"#
    }

    /// A gateway with a client for apps and one for a backend.
    private struct Site {
        let gateway: RunningGateway
        let appKey: APIKey
        let backendKey: APIKey

        func ask(
            _ line: String, _ fields: [String] = [], key: APIKey? = nil, body: String = ""
        ) async throws -> RawAnswer {
            let credentials = key.map { ["Authorization: Bearer \($0.exposed)"] } ?? []
            let answer = try await gateway.ask(line, [PluginRouteTests.json] + credentials + fields, body: body)
            return try #require(answer)
        }

        func post(_ path: String, _ fields: [String] = [], body: String? = nil) async throws -> RawAnswer {
            try await ask("POST \(path)", fields, key: appKey, body: body ?? PluginRouteTests.body(for: path))
        }
    }

    /// - Parameters:
    ///   - plugins: the value in the clients file.
    ///   - origins: the value in the configuration; nil for the default.
    private static func withSite(
        plugins: String = "[cordova-plugin-purchase, openiap]", more: String = "", origins: String? = nil,
        _ test: (Site) async throws -> Void
    ) async throws {
        let origins = try origins.map { try WebOrigins(configuration: $0) } ?? .ofApps
        let appKey = APIKey.random(), backendKey = APIKey.random()
        let backend = """
              - name: backend
                apps: [com.example.forge]
                keys:
            \(backendKey.clientsFileSnippet(hasher: KeyHasher(pepper: RunningGateway.pepper)))
            """
        try await RunningGateway.withClient(
            appKey, "apps: [com.example.forge]", "plugins: \(plugins)\(more)", rest: backend,
            trusting: [SignedSamples.pki.root.pem],
            change: {
                $0.log.values.requests = .all
                $0.pluginOrigins = origins
            }
        ) {
            try await test(Site(gateway: $0, appKey: appKey, backendKey: backendKey))
        }
    }

    // MARK: - Answers

    @Test func `a genuine transaction is answered, the second time from the near cache`() async throws {
        try await Self.withSite { site in
            // Each signature differs.
            let body = Self.body(for: "/v1/validate")
            for count in 1...2 {
                let answer = try await site.post("/v1/validate", body: body)
                #expect(answer.status == 200 && answer.headers["content-type"] == "application/json")
                let payload = try ValidatedPayload(Array(answer.body.utf8))
                // It ended a year ago or more.
                #expect(payload.isOK && !payload.owns("com.example.forge.monthly", at: .now()))
                #expect(try payload.purchase("com.example.forge.monthly")["isExpired"] as? Bool == true)
                #expect(answer.headers["cache-status"]?.contains("hit") == (count == 2 ? true : nil), "\(count)")
            }
            let answer = try await site.post("/v1/purchase/verify")
            #expect(answer.status == 200 && answer.body.jsonObject?["state"] as? String == "EXPIRED")
            #expect(answer.body.jsonObject?["isValid"] as? Bool == false)
        }
    }

    @Test func `what is not genuine, or of another app, is not ok`() async throws {
        try await Self.withSite { site in
            var foreign = TransactionContents()
            foreign.bundleID = "com.example.other"
            var forged = Self.body(for: "/v1/validate")
            forged.replace(#/.{4}"\}\}$/#, with: #""}}"#)
            let others = Self.body(for: "/v1/validate", foreign).replacing(#""type":"application","#, with: "")
            for body in [forged, Self.body(for: "/v1/validate", foreign), others, "{}", "x"] {
                let answer = try await site.post("/v1/validate", body: body)
                let payload = try ValidatedPayload(Array(answer.body.utf8))
                #expect(answer.status == 200 && !payload.isOK, "\(answer.body)")
                let code = body == "{}" ? 6_778_006 : 6_778_001
                #expect(payload.json["code"] as? Int == code && payload.data["code"] as? Int == code, "\(answer.body)")
            }
            let other = try await site.post(
                "/v1/purchase/verify", body: Self.body(for: "/v1/purchase/verify", foreign))
            #expect(other.status == 403 && other.body.contains(#""code":"APP_NOT_PERMITTED""#))
            let invalid = try await site.post("/v1/purchase/verify", body: "{}")
            #expect(invalid.status == 400)
            let error = (invalid.body.jsonObject?["errors"] as? [NSDictionary])?.first
            #expect(error?["code"] as? String == "INVALID_INPUT" && error?["path"] as? String == "store")
        }
    }

    // MARK: - Keys

    @Test(arguments: PluginProtocol.allCases)
    func `a key is accepted in three fields and in the query, and is in no log line`(plugin: PluginProtocol)
        async throws
    {
        try await Self.withSite { site in
            let key = site.appKey.exposed, basic = Data("shop:\(key)".utf8).base64EncodedString()
            let escaped = key.replacing("_", with: "%5F").replacing(".", with: "%2e")
            let requests: [(query: String, field: String?, status: Int)] = [
                ("", "Authorization: Bearer \(key)", 200), ("", "X-API-Key: \(key)", 200),
                ("", "Authorization: Basic \(basic)", 200), ("?appName=shop&apiKey=\(key)", nil, 200),
                ("?apiKey=\(escaped)", nil, 200), ("?apiKey=\(key)", "Authorization: Bearer other", 200),
                ("?apiKey=\(key)&apiKey=\(key)", nil, 401), ("?apikey=\(key)", nil, 401), ("?apiKey=%20", nil, 401),
                ("?apiKey=", nil, 401), ("?apiKey=\(key)x", nil, 401), ("", nil, 401),
            ]
            for (query, field, status) in requests {
                let fields = field.map { [$0] } ?? []
                let answer = try await site.ask(
                    "POST \(plugin.path)\(query)", fields, body: Self.body(for: plugin.path))
                #expect(answer.status == status, "\(query) \(field ?? "")")
            }
            #expect(!site.gateway.log.containing(site.appKey.id).isEmpty)
            for text in [site.appKey.secret.exposed, "apiKey", "appName"] {
                #expect(site.gateway.log.containing(text).isEmpty, "\(text)")
            }
        }
    }

    @Test func `a wrong key is answered in the protocol's words`() async throws {
        try await Self.withSite { site in
            let validate = try await site.ask("POST /v1/validate", body: Self.body(for: "/v1/validate"))
            #expect(validate.status == 401 && validate.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
            #expect(try !ValidatedPayload(Array(validate.body.utf8)).isOK && validate.body.contains("apiKey=KEY"))
            let verify = try await site.ask("POST /v1/purchase/verify", body: Self.body(for: "/v1/purchase/verify"))
            #expect(verify.status == 401 && verify.body.contains(#""code":"INVALID_API_KEY""#))
            #expect(verify.body.contains("apiKey=KEY"))
        }
    }

    @Test func `a key in an app opens no other path, and a backend's key opens no path of apps`() async throws {
        try await Self.withSite { site in
            let paths = [
                "POST /v1/verify", "POST /verifyReceipt", "GET /v1/status",
                "GET /v1/events?bundle_id=com.example.forge",
                "GET /v1/verifications/1", "DELETE /v1/cache/transactions/1", "POST /v1/erasures",
                "DELETE /v1/ownership/1", "GET /v1/apple/com.example.forge/sandbox/inApps/v1/subscriptions/1",
            ]
            for path in paths {
                let body = path.hasPrefix("POST") ? #"{"transaction_id":"1"}"# : ""
                let answer = try await site.ask(path, key: site.appKey, body: body)
                #expect(answer.status == 403 && answer.body.contains(#""code":"operation_not_permitted""#), "\(path)")
                let query = path + (path.contains("?") ? "&" : "?") + "apiKey=\(site.backendKey.exposed)"
                #expect(try await site.ask(query).status == 401, "\(path)")
            }
            for path in Self.paths {
                let answer = try await site.ask("POST \(path)", key: site.backendKey, body: Self.body(for: path))
                #expect(answer.status == 403 && answer.body.contains("plugins: ["), "\(path)")
            }
        }
    }

    @Test(arguments: [("[cordova-plugin-purchase]", [403, 404]), ("[openiap]", [404, 403])])
    func `a route exists while a client has its plugin`(plugins: String, refusals: [Int]) async throws {
        try await Self.withSite(plugins: plugins) { site in
            for (path, refusal) in zip(Self.paths, refusals) {
                let own = try await site.post(path)
                #expect(own.status == (refusal == 403 ? 200 : 404), "\(path)")
                let answer = try await site.ask("POST \(path)", key: site.backendKey, body: Self.body(for: path))
                #expect(answer.status == refusal, "\(path)")
            }
        }
    }

    @Test func `a client over its limit gets 429 in the protocol's words`() async throws {
        let limit = "\n    limits: [{name: minute, quota: 1, window: 60s}]"
        try await Self.withSite(more: limit) { site in
            #expect(try await site.post("/v1/validate").status == 200)
            let validate = try await site.post("/v1/validate")
            #expect(validate.status == 429 && validate.headers["retry-after"] != nil)
            #expect(try ValidatedPayload(Array(validate.body.utf8)).json["code"] as? Int == 6_778_002)
            let verify = try await site.post("/v1/purchase/verify")
            #expect(verify.status == 429 && verify.body.contains(#""code":"QUOTA_EXCEEDED""#))
        }
    }

    // MARK: - CORS

    @Test(arguments: [
        ("app://localhost", nil), ("capacitor://localhost", nil), ("ionic://localhost", nil),
        ("null", "https://app.example.com,null"),
    ])
    func `a page of an app may send requests and read answers, errors included`(
        origin: String, origins: String?
    ) async throws {
        try await Self.withSite(origins: origins) { site in
            let preflight = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,x-a"]
            for path in Self.paths {
                let answer = try await site.ask("OPTIONS \(path)?apiKey=x", ["Origin: \(origin)"] + preflight)
                #expect(answer.status == 204 && answer.headers["access-control-allow-origin"] == origin)
                #expect(answer.headers["access-control-allow-methods"] == "POST")
                #expect(answer.headers["access-control-allow-headers"] == "Authorization, Content-Type, X-API-Key, *")
                let posted = try await site.post(path, ["Origin: \(origin)"])
                #expect(posted.status == 200 && posted.headers["access-control-allow-origin"] == origin)
                let refused = try await site.ask("POST \(path)", ["Origin: \(origin)"], body: "{}")
                #expect(refused.status == 401 && refused.headers["access-control-allow-origin"] == origin)
                for answer in [answer, posted, refused] { #expect(answer.headers["vary"] == "Origin") }
            }
            #expect(!site.gateway.log.containing("/v1/validate").contains { $0.contains("apiKey") })
        }
    }

    /// `null` is the origin of a sandboxed frame, which any site can make.
    @Test(arguments: ["https://example.com", "capacitor://localhost.example", "null", "NULL", "*", ""])
    func `another page may not read answers`(origin: String) async throws {
        try await Self.withSite { site in
            for path in Self.paths {
                let preflight = try await site.ask("OPTIONS \(path)", ["Origin: \(origin)"])
                let posted = try await site.post(path, ["Origin: \(origin)"])
                #expect(preflight.status == 204 && posted.status == 200)
                for answer in [preflight, posted] {
                    #expect(answer.headers["access-control-allow-origin"] == nil && answer.headers["vary"] == "Origin")
                }
            }
        }
    }

    @Test func `other routes answer no preflight`() async throws {
        try await Self.withSite { site in
            let origin = ["Origin: capacitor://localhost"]
            #expect(try await site.ask("OPTIONS /v1/verify", origin).status == 401)
            let answer = try await site.ask("OPTIONS /v1/verify", origin, key: site.backendKey)
            #expect(answer.status == 204 && answer.headers["access-control-allow-origin"] == nil)
            #expect(answer.headers["vary"] == nil)
        }
    }
}
