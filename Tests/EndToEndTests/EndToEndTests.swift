// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import ReceiptForge
import Testing
import TestSupport

/// The real binaries, run as an operator runs them.
@Suite(.serialized) struct EndToEndTests {
    private var stage: Stage { .current }

    private struct CorpusEntry: Decodable {
        let file, evidence, expected: String
        let reason, bundle_id: String?
        let purchases: Int?
    }

    // MARK: - Verdicts

    @Test func `every receipt of the corpus gets its verdict over HTTP, in an answer as described`() async throws {
        let folder = try ScratchFolder()
        let samples = folder.url.appending(path: "corpus")
        let made = try await Program.loadTest.run(["corpus", "--out", samples.path, "--count", "10", "--seed", "7"])
        #expect(made.status == 0, "\(made.errors)")
        let index = try Data(contentsOf: samples.appending(path: "index.json"))
        let entries = try JSONDecoder().decode([CorpusEntry].self, from: index).filter { $0.evidence == "receipt" }
        // One of them has ten mebibytes, so that the verifier's limit applies and not the one of HTTP.
        let gateway = try await RunningGateway([
            "GATEWAY_TRUST_ROOTS": samples.appending(path: "root.pem").path, "GATEWAY_HTTP_LIMITS_BODY": "16MiB",
        ])
        let api = try APIDescription()
        for entry in entries {
            let text = try String(contentsOf: samples.appending(path: entry.file), encoding: .utf8)
            let answer = try await gateway.verify(text)
            #expect(try api.faults(of: answer, to: "POST", "/v1/verify") == [], "\(entry.file)")
            try Self.expect(answer, toBe: entry)
        }
        #expect(entries.count > 100)
        #expect(await gateway.stop() == 0)
    }

    private static func expect(_ answer: HTTPAnswer, toBe entry: CorpusEntry) throws {
        let json = try answer.json
        if entry.expected == "bad_request" {
            #expect(answer.status == 400 && json["fault"] as? String == entry.reason, "\(entry.file)")
            return
        }
        #expect(answer.status == 200, "\(entry.file)")
        #expect(json["verdict"] as? String == entry.expected, "\(entry.file)")
        #expect(json["reason"] as? String == entry.reason, "\(entry.file)")
        let receipt = json["receipt"] as? [String: Any]
        #expect(receipt?["bundle_id"] as? String == entry.bundle_id, "\(entry.file)")
        #expect((receipt?["in_app"] as? [Any])?.count == entry.purchases, "\(entry.file)")
        #expect((json["transactions"] as? [Any])?.count == entry.purchases ?? 0, "\(entry.file)")
    }

    @Test(.enabled(if: RealCorpus.receipts != nil, "set RECEIPT_CORPUS to a folder of real receipts"))
    func `real receipts get their verdicts over HTTP`() async throws {
        let gateway = try await RunningGateway()
        let api = try APIDescription()
        for entry in try RealReceipts.entries() {
            let answer = try await gateway.verify(try RealReceipts.text(of: entry))
            #expect(try api.faults(of: answer, to: "POST", "/v1/verify") == [], "\(entry.file)")
            let json = try answer.json
            #expect(json["verdict"] as? String == entry.verdict, "\(entry.file)")
            guard entry.verdict == "genuine" else { continue }
            let receipt = try #require(json["receipt"] as? [String: Any])
            #expect(receipt["bundle_id"] as? String == entry.bundle_id)
            #expect(receipt["receipt_creation_date"] as? String == entry.receipt_creation_date)
            let transactions = try #require(json["transactions"] as? NSArray)
            #expect(transactions.count == entry.purchases && transactions == receipt["in_app"] as? NSArray)
        }
    }

    @Test func `without file descriptors the gateway logs an error, and continues once it has some`() async throws {
        let gateway = try await RunningGateway()
        try gateway.limitFileDescriptors(to: 8)
        async let answer = gateway.get("/v1/status", port: gateway.dataPort)
        try await eventually("it cannot accept") {
            gateway.transcript.lines.contains {
                $0.contains("Cannot accept connections") && $0.contains("\"errno\":24")
            }
        }
        try gateway.limitFileDescriptors(to: 1024)
        #expect(try await answer.status == 200)
        #expect(await gateway.stop() == 0)
    }

    @Test(.stage) func `the latest receipt is returned on request, from Apple if Apple answered`() async throws {
        let sent = Sample.receipt(0)
        func latest(_ more: [String: Any]) async throws -> String? {
            try await stage.gateway.verify(sent, more).json["latest_receipt"] as? String
        }
        #expect(try await latest(["mode": "local"]) == nil)
        #expect(try await latest(["mode": "local", "latest_receipt": true]) == sent)
        #expect(try await latest(["mode": "apple"]) == nil)
        let apples = try #require(try await latest(["mode": "apple", "latest_receipt": true]))
        #expect(apples != sent)
        #expect(try await stage.gateway.verify(apples, ["mode": "local"]).json["verdict"] as? String == "genuine")
    }

    @Test func `a repeated request is answered from the near cache, unless the client requires a new answer`()
        async throws
    {
        let (gateway, sample) = try await RunningGateway.withSample()
        func cache(_ more: [String: Any]) async throws -> String? {
            let provenance = try await gateway.verify(sample, more).json["provenance"] as? [String: Any]
            return provenance?["cache"] as? String
        }
        #expect(try await cache([:]) == "miss")
        #expect(try await cache([:]) == "near")
        #expect(try await cache(["mode": "local"]) == "miss")
    }

    @Test(arguments: [(-1, true), (30, false), (nil, nil)] as [(Int64?, Bool?)])
    func `an app whose volume licence has ended is genuine and expired`(endsAfterDays: Int64?, isExpired: Bool?)
        async throws
    {
        let folder = try ScratchFolder()
        var contents = ReceiptContents(bundleID: "com.example.app", creationDate: Sample.now.advanced(byDays: -40))
        contents.receiptType = "ProductionVPP"
        contents.expirationDate = endsAfterDays.map { Sample.now.advanced(byDays: $0) }
        let gateway = try await RunningGateway([
            "GATEWAY_TRUST_ROOTS": folder.write(Sample.pki.rootPEM, to: "root.pem") + "=Production"
        ])
        let text = Data(Sample.pki.sign(contents)).base64EncodedString()
        // First computed, then from the cache.
        for _ in 1...2 {
            let answer = try await gateway.verify(text)
            #expect(try APIDescription().faults(of: answer, to: "POST", "/v1/verify") == [])
            let receipt = try #require(try answer.json["receipt"] as? [String: Any])
            #expect(try answer.json["verdict"] as? String == "genuine" && receipt["is_expired"] as? Bool == isExpired)
            #expect((receipt["expiration_date_ms"] != nil) == (endsAfterDays != nil))
        }
        // Apple's form has only the date.
        let dropIn = try await gateway.verifyReceipt(["receipt-data": text]).json
        let receipt = try #require(dropIn["receipt"] as? [String: Any])
        #expect(dropIn["status"] as? Int == 0 && receipt["is_expired"] == nil)
        #expect((receipt["expiration_date_ms"] != nil) == (endsAfterDays != nil))
    }

    @Test func `a receipt of another app is rejected`() async throws {
        let (gateway, sample) = try await RunningGateway.withSample()
        let json = try await gateway.verify(sample, ["bundle_id": "com.example.another-app"]).json
        #expect(json["verdict"] as? String == "rejected")
        #expect(json["reason"] as? String == "bundle_id_mismatch")
        #expect(json["receipt"] == nil)
    }

    // MARK: - Bad input

    @Test(arguments: [
        (#"{"receipt":1}"#, 400, "receipt"), (#"{"receipt":"AAAA","receipt":"AAAA"}"#, 400, "receipt"),
        (#"{"receipt":"AAAA","colour":"red"}"#, 400, "colour"), (#"{}"#, 400, "receipt"),
        (#"{"receipt":"AAAA","mode":"guess"}"#, 400, "mode"), (#"[]"#, 400, nil), ("", 400, nil),
    ])
    func `a bad body gets a problem that names the field`(_ body: String, _ status: Int, _ field: String?) async throws
    {
        let gateway = try await RunningGateway()
        let answer = try await gateway.post(Data(body.utf8))
        #expect(answer.status == status)
        #expect(answer.contentType == "application/problem+json")
        #expect(try answer.json["field"] as? String == field)
        #expect(try APIDescription().faults(of: answer, to: "POST", "/v1/verify") == [])
    }

    @Test func `a wrong media type, size, method or path has its own status`() async throws {
        let gateway = try await RunningGateway(["GATEWAY_HTTP_LIMITS_BODY": "1KiB"])
        let api = try APIDescription()
        let text = try await gateway.post(Data("{}".utf8), contentType: "text/plain")
        let large = try await gateway.post(Data(repeating: 32, count: 4096))
        #expect(text.status == 415 && large.status == 413)
        for answer in [text, large] { #expect(try api.faults(of: answer, to: "POST", "/v1/verify") == []) }
        let wrong = try await gateway.get("/v1/verify", port: gateway.dataPort, method: "DELETE")
        #expect(wrong.status == 405)
        #expect(try api.faults(of: wrong, to: "POST", "/v1/verify") == [])
        #expect(try await gateway.get("/nowhere", port: gateway.dataPort).status == 404)
    }

    @Test func `every operation of the description exists`() async throws {
        let folder = try ScratchFolder()
        let gateway = try await RunningGateway([
            "GATEWAY_NOTIFICATIONS_ALLOW_VOLATILE": "true",
            "GATEWAY_SIGNED_ANSWERS_KEY_FILES": folder.write(
                ForgedAPIKey(seed: 46).privateKeyPEM, to: "answers.pem"),
        ])
        let api = try APIDescription()
        // A stream of events does not end: the tests of the status page cover it.
        for (path, method, isOnDataPlane) in api.operations
        where method == "GET" && path != "/status.events" && !path.contains("{") {
            let port = isOnDataPlane ? gateway.dataPort : gateway.adminPort
            let query = path == "/v1/events" ? "?bundle_id=com.example.app" : ""
            let answer = try await gateway.get(path + query, port: port)
            #expect(try api.faults(of: answer, to: "GET", path) == [], "\(path)")
            #expect(answer.status == 200)
            let wrong = try await gateway.get(path, port: port, method: "DELETE")
            #expect(try api.faults(of: wrong, to: "GET", path) == [], "\(path)")
        }
        // A house rule compares the operations of the proxy with the code.
        let paths = Set(api.operations.map(\.path)).filter { !$0.hasPrefix("/v1/apple/") }.sorted()
        let known = [
            "/.well-known/jwks.json", "/api", "/apiencrypted", "/apple/notifications", "/apple/notifications/{token}",
            "/v1/cache/transactions/{id}", "/v1/erasures", "/v1/events", "/v1/ownership/{original_transaction_id}",
            "/v1/purchase/verify", "/v1/status", "/v1/validate", "/v1/verifications/{id}", "/v1/verify",
            "/verifyReceipt",
        ]
        let ofOperators = ["/", "/livez", "/log-level", "/metrics", "/readyz", "/status.events", "/status.json"]
        #expect(paths == (ofOperators + known).sorted())
        #expect(try api.faultsOfExample(of: "GET", "/v1/events") == [])
    }

    @Test func `the status with a known end of Apple's endpoint is as described, and so is the example`() async throws {
        let gateway = try await RunningGateway([
            "GATEWAY_APPLE_SUNSET": "2999-12-31", "GATEWAY_APPLE_BREAKER": "forced_open",
            "GATEWAY_APPLE_MAX_REQUESTS_PER_SECOND": "9", "GATEWAY_APPLE_ENABLED": "false",
        ])
        let api = try APIDescription()
        let answer = try await gateway.get("/v1/status", port: gateway.dataPort)
        #expect(try api.faults(of: answer, to: "GET", "/v1/status") == [])
        #expect(answer.headers["sunset"] == "Tue, 31 Dec 2999 00:00:00 GMT")
        let upstreams = try #require(try answer.json["upstreams"] as? [String: [String: Any]])
        let production = try #require(upstreams["production"])
        #expect(production["enabled"] as? Bool == false && production["budget_remaining"] as? Int == 9)
        #expect((production["lifecycle"] as? [String: Any])?["sunset"] as? String == "2999-12-31T00:00:00Z")
        #expect((production["breaker"] as? [String: String]) == ["state": "open", "mode": "forced_open"])
        #expect(try api.faultsOfExample(of: "GET", "/v1/status") == [])
    }

    // MARK: - Clients

    @Test func `a key permits its own apps, and nothing else`() async throws {
        let folder = try ScratchFolder()
        let made = try await APIKey(), key = made.text
        let clients = """
            clients:
              - name: backend
                apps: ["com.example.app"]
                keys:
            \(made.lines)
            """
        let (_, sample) = try await RunningGateway.withSample(in: folder)
        let gateway = try await RunningGateway(
            APIKey.pepper.merging([
                "GATEWAY_CLIENTS_FILE": try folder.write(clients, to: "clients.yaml"),
                "GATEWAY_TRUST_ROOTS": folder.url.appending(path: "corpus/root.pem").path,
            ]) { $1 })
        let none = try await gateway.verify(sample)
        let wrong = try await gateway.verify(sample, key: String(key.dropLast()) + (key.last == "A" ? "B" : "A"))
        #expect(none.status == 401 && wrong.status == 401)
        #expect(try APIDescription().faults(of: none, to: "POST", "/v1/verify") == [])
        #expect(try none.json["detail"] as? String == wrong.json["detail"] as? String)
        let foreign = try await gateway.verify(sample, key: key)
        #expect(foreign.status == 403)
        #expect(
            try (foreign.json["detail"] as? String)?.contains(/not permitted to use the app [A-Za-z0-9.-]+:/) == true)
        let named = try await gateway.verify(sample, ["bundle_id": "com.example.app"], key: key)
        #expect(try named.json["reason"] as? String == "bundle_id_mismatch")
    }

    @Test func `without clients only loopback is served, and the error says what to do`() async throws {
        let outcome = try await Program.gateway.run(["serve"], environment: ["GATEWAY_HTTP_HOST": "0.0.0.0"])
        #expect(outcome.status == 78)
        #expect(outcome.errors.contains("hash-key") && outcome.errors.contains("GATEWAY_CLIENTS_FILE"))
    }

    @Test func `check-config reports every problem at once`() async throws {
        let outcome = try await Program.gateway.run(
            ["check-config"],
            environment: ["GATEWAY_HTTP_PRT": "1", "GATEWAY_ADMIN_PORT": "many", "GATEWAY_TRUST_ROOTS": "/nowhere.pem"])
        #expect(outcome.status == 78)
        for word in ["GATEWAY_HTTP_PRT", "GATEWAY_HTTP_PORT", "GATEWAY_ADMIN_PORT", "/nowhere.pem"] {
            #expect(outcome.errors.contains(word), "\(outcome.errors)")
        }
    }

    @Test(arguments: ["serve", "check-config", "doctor"])
    func `every command refuses one port for both planes, a file without authorities and an unusable proxy`(
        command: String
    ) async throws {
        let outcome = try await Program.gateway.run(
            [command],
            environment: [
                "GATEWAY_ADMIN_PORT": "8080", "GATEWAY_APPLE_CA_FILE": "/dev/null", "GATEWAY_APPLE_PROXY": "http://",
            ])
        #expect(outcome.status == 78)
        for name in [
            "GATEWAY_ADMIN_PORT: ", "GATEWAY_APPLE_CA_FILE: /dev/null contains no PEM certificate",
            "GATEWAY_APPLE_PROXY: ",
        ] {
            #expect((outcome.output + outcome.errors).contains(name), "\(outcome)")
        }
    }

    @Test func `a misspelt command is no argument of serve`() async throws {
        let outcome = try await Program.gateway.run(["sevre", "--config", "gateway.yaml"], environment: [:])
        #expect(outcome.status == 64 && outcome.errors.contains("did you mean `receipt-gateway serve`?"), "\(outcome)")
    }

    @Test func `check-config warns if receipts need a key that is missing`() async throws {
        let outcome = try await Program.gateway.run(
            ["check-config"], environment: ["GATEWAY_APPLE_RECEIPT_UPSTREAM": "server_api"])
        #expect(outcome.status == 0 && outcome.output.contains("gateway.apple.receipt_upstream: server_api\n"))
        #expect(outcome.errors.hasPrefix("Warning: receipt_upstream: server_api without a key"), "\(outcome.errors)")
        let ordinary = try await Program.gateway.run(["check-config"], environment: [:])
        #expect(ordinary.status == 0 && ordinary.errors == "")
    }

    // MARK: - Start and end

    @Test(.timeLimit(.patient))
    func `an unread log blocks no request, and is complete once it is read`() async throws {
        let gateway = try await RunningGateway(readsOn: false)
        // Some 250 bytes of log each: together more than twice the size of a pipe.
        for _ in 0..<600 { #expect(try await gateway.post(Data("{}".utf8)).status == 400) }
        let log = gateway.log.readToEnd()
        #expect(await gateway.stop() == 0)
        #expect(await log.value.split(separator: "\n").filter { $0.contains(#""message":"request""#) }.count == 600)
    }

    @Test(.timeLimit(.patient)) func `a gateway with an unread log still ends on SIGTERM`() async throws {
        let gateway = try await RunningGateway(readsOn: false)
        for _ in 0..<600 { #expect(try await gateway.post(Data("{}".utf8)).status == 400) }
        #expect(await gateway.stop() == 0)
    }

    @Test func `a port in use is reported after the earlier log lines`() async throws {
        let gateway = try await RunningGateway()
        let outcome = try await Program.gateway.run(
            ["serve"], environment: ["GATEWAY_HTTP_PORT": "\(gateway.dataPort)", "GATEWAY_ADMIN_PORT": "0"])
        #expect(outcome.status == 1)
        let starting = try #require(outcome.errors.firstRange(of: "Starting"))
        let taken = try #require(outcome.errors.firstRange(of: "Another process listens on port"))
        #expect(starting.lowerBound < taken.lowerBound)
    }

    @Test func `an OpenSSL that cannot verify receipts is found at the start, and the error says what to fix`()
        async throws
    {
        let folder = try ScratchFolder()
        // A policy that allows only the FIPS provider, on a machine without it.
        let policy = """
            openssl_conf = openssl_init
            [openssl_init]
            alg_section = algorithms
            [algorithms]
            default_properties = fips=yes
            """
        let environment = APIKey.pepper.merging([
            "OPENSSL_CONF": try folder.write(policy, to: "openssl.cnf"),
            "GATEWAY_CLIENTS_FILE": try folder.write("clients: []\n", to: "clients.yaml"),
        ]) { $1 }
        for command in ["check-config", "serve", "doctor", "hash-key"] {
            let outcome = try await Program.gateway.run([command], environment: environment)
            #expect(outcome.status == 78 && !outcome.errors.contains("rgk_"), "\(outcome.errors)")
            let text = outcome.output + outcome.errors
            for word in ["OpenSSL", "SHA-1", "OPENSSL_CONF"] { #expect(text.contains(word), "\(command): \(text)") }
        }
    }
}
