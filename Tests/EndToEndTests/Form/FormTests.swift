// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealCorpus
import ReceiptForge
import Testing
import TestSupport

/// `POST /api` and `POST /apiencrypted` of the real binary, with a simulated Apple and without.
@Suite(.timeLimit(.patient)) struct FormTests {
    private static let paths = ["/api", "/apiencrypted"]

    /// One account with an app that has an encryption key, and one that has none.
    private func shop() async throws -> FormStage {
        let stage = try await FormStage([])
        try await stage.write([
            .init(
                name: "shop", key: "act_shop",
                apps: [stage.app("app_1", encrypts: true), stage.app("app_2", "com.example.other")])
        ])
        return stage
    }

    // MARK: - Answers

    @Test func `a receipt is verified with Apple, in clear and encrypted`() async throws {
        try await withShop { stage in
            let receipt = Sample.receipt(0)
            let reply = try await stage.gateway.form("act_shop", "app_1", receipt)
            #expect(reply.http == 200 && reply.contentType == "application/json")
            #expect(reply.status == 0 && reply.json["description"] as? String == "Receipt valid")
            #expect(reply.headers["gateway-source"] == "apple")
            #expect(try APIDescription().faults(of: reply.answer, to: "POST", "/api") == [])
            let content = try #require(reply.json["receipt"] as? [String: Any])
            #expect(content["bundle_id"] as? String == Sample.bundleID && content["in_app"] is [Any])
            let latest = try #require(reply.json["latest_receipt_info"] as? [[String: Any]])
            #expect(latest as NSArray == content["latest_receipt_info"] as? NSArray && !latest.isEmpty)
            for name in ["environment", "latest_receipt"] { #expect(reply.json[name] is String, "\(name)") }
            #expect(reply.json["pending_renewal_info"] is [Any])
            let encrypted = try await stage.gateway.form("act_shop", "app_1", receipt, to: "/apiencrypted")
            #expect(encrypted.http == 200 && encrypted.contentType == "text/plain; charset=utf-8")
            #expect(try await encrypted.decrypted() as NSDictionary == reply.json as NSDictionary)
        }
    }

    @Test func `a cached answer is encrypted anew`() async throws {
        try await withShop { stage in
            let receipt = Sample.receipt(0)
            var replies: [FormReply] = []
            for _ in 0..<3 {
                replies.append(try await stage.gateway.form("act_shop", "app_1", receipt, to: "/apiencrypted"))
            }
            #expect(Set(replies.map(\.body)).count == 3 && stage.apple.stats.production == 1)
            #expect(replies.dropFirst().allSatisfy { $0.headers["cache-status"]?.contains("hit") == true })
            let texts = try await replies.async { try await $0.decrypted() as NSDictionary }
            #expect(texts[0] == texts[1] && texts[1] == texts[2])
        }
    }

    @Test func `Apple's sandbox is asked where Apple says so, and 21007 never comes out`() async throws {
        try await withShop { stage in
            let reply = try await stage.gateway.form("act_shop", "app_1", Sample.receipt(0, type: "ProductionSandbox"))
            #expect(reply.status == 0 && reply.json["environment"] as? String == "Sandbox")
            #expect(stage.apple.stats.production == 1 && stage.apple.stats.sandbox == 1)
        }
    }

    @Test(arguments: ["faults: [{fault: html}]", "faults: [{fault: {http_status: 503}}]", "faults: [{fault: reset}]"])
    func `a genuine receipt is valid without Apple`(scenario: String) async throws {
        try await withShop(scenario) { stage in
            let reply = try await stage.gateway.form("act_shop", "app_1", Sample.receipt(0))
            #expect(reply.status == 0 && reply.headers["gateway-source"] == "local")
            #expect(reply.headers["gateway-degraded"] != nil)
            #expect((reply.json["latest_receipt_info"] as? [Any])?.count == 1)
        }
    }

    @Test func `an iOS 6 receipt is verified with Apple, and has status 21006 once its subscription has ended`()
        async throws
    {
        let stage = try await shop()
        let file = try stage.folder.write(Sample.pki.intermediate.pem, to: "intermediates.pem")
        let settings = stage.settings.merging(["GATEWAY_TRUST_INTERMEDIATES": file]) { $1 }
        try await withStage("", settings) { running in
            let active = try await running.gateway.form(
                "act_shop", "app_1", Sample.transactionReceipt(endingAfterDays: 5))
            #expect(active.status == 0 && active.headers["gateway-source"] == "apple")
            #expect((active.json["receipt"] as? [String: Any])?["bid"] as? String == Sample.bundleID)
            #expect(active.json["latest_receipt_info"] is [String: Any])
            // Twice: the second answer comes from the near cache.
            for _ in 0..<2 {
                let ended = try await running.gateway.form(
                    "act_shop", "app_1", Sample.transactionReceipt(endingAfterDays: -3))
                #expect(ended.http == 200 && ended.status == 21006 && ended.json["receipt"] == nil)
            }
            #expect(running.apple.stats.production == 2)
            try running.play("faults: [{fault: html}]")
            let away = try await running.gateway.form(
                "act_shop", "app_1", Sample.transactionReceipt(endingAfterDays: -4))
            #expect(away.status == 21006)
        }
        withExtendedLifetime(stage) {}
    }

    @Test func `a wrong shared secret of the app does not reject its customers`() async throws {
        let stage = try await FormStage([])
        try await stage.write([
            .init(name: "shop", key: "k", apps: [stage.app("t") + ", shared_secret: \(Sample.secret)"]),
            .init(name: "other", key: "l", apps: [stage.app("u") + ", shared_secret: 0123456789abcdef"]),
        ])
        try await withStage("shared_secret: \(Sample.secret)", stage.settings) { running in
            let right = try await running.gateway.form("k", "t", Sample.receipt(0))
            #expect(right.status == 0 && right.headers["gateway-source"] == "apple")
            let wrong = try await running.gateway.form("l", "u", Sample.receipt(0))
            #expect(wrong.status == 0 && wrong.headers["gateway-degraded"] == "shared_secret_rejected")
        }
        withExtendedLifetime(stage) {}
    }

    // MARK: - Order of checks

    @Test(arguments: paths) func `each check has its status, in order`(path: String) async throws {
        try await withShop { stage in
            let good = Sample.receipt(0), forged = Sample.forged()
            let api = try APIDescription()
            func reply(_ body: String) async throws -> FormReply {
                let reply = try await stage.gateway.form(body, to: path)
                #expect(try api.faults(of: reply.answer, to: "POST", path) == [])
                return reply
            }
            for (body, status) in [
                ("", 401), ("apikey=act_shop&receipt=\(good)", 401), ("token=app_1&receipt=\(good)", 401),
                ("apikey=no&token=app_1&receipt=\(good)", 401), ("apikey=act_shop&token=no&receipt=\(good)", 401),
                ("apikey=no&token=no", 401), ("apikey=act_shop&apikey=act_shop&token=app_1&receipt=\(good)", 401),
                ("apikey=act_shop&token=app_1", 21002), ("apikey=act_shop&token=app_1&receipt=", 21002),
                ("apikey=act_shop&token=app_1&receipt=AQ-_", 21002),
                ("apikey=act_shop&token=app_1&receipt=\(good)&receipt=\(good)", 21002),
                ("apikey=act_shop&token=app_1&receipt=AQID", 21002),
                ("apikey=act_shop&token=app_1&receipt=\(forged)", 21003),
            ] {
                let reply = try await reply(body)
                #expect(reply.http == 200 && reply.status == status, "\(body.prefix(60)): \(reply.json)")
                #expect(reply.json["description"] is String && reply.json["receipt"] == nil)
            }
            #expect(stage.apple.stats.production == 0)
        }
    }

    @Test func `another app's receipt is 403, and an app without a key has no encrypted answers`() async throws {
        let gateway = try await withoutApple(shop())
        let foreign = try await gateway.form("act_shop", "app_2", Sample.receipt(0))
        #expect(foreign.http == 200 && foreign.status == 403 && foreign.json["receipt"] == nil)
        let plain = try await gateway.form("act_shop", "app_2", Sample.receipt(0), to: "/apiencrypted")
        #expect(plain.status == 401 && (plain.json["description"] as? String)?.contains("encryption key") == true)
    }

    @Test func `two accounts cannot reach each other's apps`() async throws {
        let stage = try await FormStage([])
        let tokens = [["a1", "a2"], ["b1", "b2"]]
        try await stage.write(
            zip(["a", "b"], tokens).map { name, tokens in
                .init(name: name, key: "key-\(name)", apps: tokens.map { stage.app($0, encrypts: true) })
            })
        let gateway = try await withoutApple(stage)
        for path in Self.paths {
            for (owner, name) in ["a", "b"].enumerated() {
                for (other, tokens) in tokens.enumerated() {
                    for token in tokens {
                        // Twice: the second answer comes from the near cache.
                        for _ in 0..<2 {
                            let reply = try await gateway.form("key-\(name)", token, Sample.receipt(0), to: path)
                            let isValid = path == "/api" ? reply.status == 0 : reply.contentType.hasPrefix("text/plain")
                            #expect(isValid == (owner == other), "\(name) \(token) \(path)")
                            if owner != other { #expect(reply.status == 401) }
                        }
                    }
                }
            }
        }
    }

    // MARK: - Keys

    @Test func `a revoked key gets no cached answer, and a changed app no old one`() async throws {
        let stage = try await shop()
        let gateway = try await withoutApple(stage)
        let receipt = Sample.receipt(0)
        for _ in 0..<2 { #expect(try await gateway.form("act_shop", "app_1", receipt).status == 0) }
        try await stage.write([.init(name: "shop", key: "act_shop", apps: [stage.app("app_1", "com.example.new")])])
        gateway.hangUp()
        try await gateway.expect(successes: 1)
        #expect(try await gateway.form("act_shop", "app_1", receipt).status == 403)
        try await stage.write([.init(name: "shop", key: "act_new", apps: [stage.app("app_1")])])
        gateway.hangUp()
        try await gateway.expect(successes: 2)
        #expect(try await gateway.form("act_shop", "app_1", receipt).status == 401)
        #expect(try await gateway.form("act_new", "app_1", receipt).status == 0)
    }

    @Test func `without form keys the paths do not exist`() async throws {
        let key = try await APIKey()
        let client = "- name: backend\n  apps: '*'\n  keys:\n\(key.lines)"
        let stage = try await FormStage([], and: client)
        let gateway = try await withoutApple(stage)
        for path in Self.paths + ["/other"] {
            #expect(try await gateway.form("a", "t", "AQID", to: path).http == 401)
            #expect(try await gateway.post(Data(), to: path, key: key.text).status == 404)
        }
        try await stage.write([.init(name: "shop", key: "act_shop", apps: [stage.app("app_1")])], and: client)
        gateway.hangUp()
        try await gateway.expect(successes: 1)
        #expect(try await gateway.form("act_shop", "app_1", Sample.receipt(0)).status == 0)
    }

    @Test func `form keys and API keys are of no use in place of each other`() async throws {
        let key = try await APIKey()
        let stage = try await FormStage([])
        try await stage.write(
            [.init(name: "shop", key: "act_shop", apps: [stage.app("app_1")])],
            and: "- name: backend\n  apps: '*'\n  may: [purge]\n  keys:\n\(key.lines)")
        let gateway = try await withoutApple(stage)
        #expect(try await gateway.verify(Sample.receipt(0), key: "act_shop").status == 401)
        #expect(try await gateway.purge("1", key: "act_shop").status == 401)
        for form in [key.text, String(key.text.drop { $0 != "." }.dropFirst())] {
            #expect(try await gateway.form(form, "app_1", Sample.receipt(0)).status == 401)
        }
    }

    @Test func `hash-key and seal-key read a key, and say what is wrong with it`() async throws {
        #expect(try await FormStage.run("hash-key --import", input: "").status == 64)
        let sealed = try await FormStage.run("seal-key", input: FormStage.encryptionKey)
        #expect(sealed.status == 0 && sealed.output.contains("encryption_key: sealed:"))
        #expect(!sealed.output.contains(FormStage.encryptionKey))
        let short = try await FormStage.run("seal-key", input: "0011")
        #expect(short.status == 64 && short.errors.contains("16 or 32 bytes"))
        let stage = try await FormStage([])
        let app =
            stage.app("app_1") + sealed.output.replacing("          ", with: ", ").trimmingCharacters(in: .newlines)
        try await stage.write([.init(name: "shop", key: "act_shop", apps: [app])])
        let gateway = try await withoutApple(stage)
        let reply = try await gateway.form("act_shop", "app_1", Sample.receipt(0), to: "/apiencrypted")
        #expect(try await reply.decrypted()["status"] as? Int == 0)
    }

    // MARK: - Limits

    @Test func `limits are per address, and answer in the same format`() async throws {
        let stage = try await FormStage([])
        let limits = "    limits: [{name: hour, per: address, quota: 2, window: 3600s}]\n"
        try await stage.write([.init(name: "shop", key: "act_shop", apps: [stage.app("app_1")], more: limits)])
        let gateway = try await withoutApple(stage, ["GATEWAY_HTTP_TRUSTED_PROXIES": "127.0.0.1"])
        func status(from address: String) async throws -> FormReply {
            let body = Data("apikey=act_shop&token=app_1&receipt=\(Sample.receipt(0))".utf8)
            return try await FormReply(
                gateway.post(
                    body, to: "/api", contentType: "application/x-www-form-urlencoded",
                    fields: ["X-Forwarded-For": address]))
        }
        for _ in 0..<2 { #expect(try await status(from: "192.0.2.1").status == 0) }
        let limited = try await status(from: "192.0.2.1")
        #expect(limited.http == 429 && limited.status == 500 && limited.headers["retry-after"] != nil)
        #expect(try APIDescription().faults(of: limited.answer, to: "POST", "/api") == [])
        #expect(try await status(from: "192.0.2.2").status == 0)
    }

    @Test func `wrong credentials are limited, and a right pair never is`() async throws {
        let gateway = try await withoutApple(shop())
        // A token comes back each second.
        let guesses = try await withThrowingTaskGroup { group in
            for number in 0..<400 {
                group.addTask { try await gateway.form("guess-\(number)", "app_1", "AQID") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let limited = guesses.filter { $0.http == 429 }
        #expect(guesses.count { $0.http == 200 && $0.status == 401 } >= 60)
        #expect(limited.count > 100 && limited.allSatisfy { $0.status == 500 && $0.headers["retry-after"] != nil })
        #expect(try await gateway.form("act_shop", "app_1", Sample.receipt(0)).status == 0)
        #expect([200, 429].contains(try await gateway.form("act_shop", "no", "AQID").http))
        let scrape = try await Scrape(gateway)
        #expect(scrape[#"form_wrong_credentials_total{credential="key"}"#] == 400)
        #expect(scrape[#"form_wrong_credentials_total{credential="token"}"#] == 1)
    }

    @Test func `a connection ends after wrong credentials, and stays open after right ones`() async throws {
        let gateway = try await withoutApple(shop())
        for path in Self.paths {
            let wrong = try await gateway.form("no", "app_1", "AQID", to: path)
            #expect(wrong.headers["connection"] == "close")
            let right = try await gateway.form("act_shop", "app_1", Sample.receipt(0), to: path)
            #expect(right.headers["connection"] == nil)
            let options = try await gateway.get(path, port: gateway.dataPort, method: "OPTIONS")
            #expect(options.status == 204 && options.headers["connection"] == "close")
        }
    }

    @Test func `a request for encrypted answers without a key is charged too`() async throws {
        let stage = try await FormStage([])
        let limits = "    limits: [{name: hour, quota: 2, window: 3600s}]\n"
        try await stage.write([.init(name: "shop", key: "k", apps: [stage.app("t")], more: limits)])
        let gateway = try await withoutApple(stage)
        for expected in [200, 200, 429] {
            #expect(try await gateway.form("k", "t", Sample.receipt(0), to: "/apiencrypted").http == expected)
        }
    }

    @Test func `a body has a limit of its own`() async throws {
        let gateway = try await withoutApple(shop())
        // 105 KB in base64, and every character percent-encoded.
        let large = Sample.largeReceipt(purchases: 300)
        #expect((90_000...200_000).contains(large.utf8.count))
        let encoded = large.utf8.map { "%" + String($0, radix: 16) }.joined()
        #expect(try await gateway.form("act_shop", "app_1", encoded).status == 0)
        let limit = 1 << 20
        let beyond = try await gateway.form("act_shop", "app_1", String(repeating: "A", count: limit))
        #expect(beyond.http == 413 && beyond.status == 500)
        #expect((beyond.json["description"] as? String)?.contains("1MiB") == true)
    }

    @Test func `other methods and media types are refused in the same format`() async throws {
        let gateway = try await withoutApple(shop())
        let get = try await FormReply(gateway.get("/api", port: gateway.dataPort))
        #expect(get.http == 405 && get.status == 500 && get.headers["allow"] == "POST, OPTIONS")
        for type in ["application/json", "multipart/form-data; boundary=x", "text/plain"] {
            let reply = try await FormReply(gateway.post(Data("{}".utf8), to: "/api", contentType: type))
            #expect(reply.http == 415 && reply.status == 500)
        }
        let charset = "Application/X-WWW-Form-Urlencoded; charset=UTF-8"
        let body = Data("apikey=act_shop&token=app_1&receipt=\(Sample.receipt(0))".utf8)
        #expect(try await FormReply(gateway.post(body, to: "/api", contentType: charset)).status == 0)
    }

    // MARK: - Settings

    @Test func `HTTP statuses, the envelope and the form of keys are settings`() async throws {
        let stage = try await shop()
        // The same text, as 64 characters, is too long for a key; its half is one of 32 bytes.
        let key = String(FormStage.encryptionKey.prefix(32))
        try stage.folder.replace("key", with: key)
        let gateway = try await withoutApple(
            stage,
            [
                "GATEWAY_FORM_STATUSES": "same", "GATEWAY_FORM_ENVELOPE": "json",
                "GATEWAY_FORM_ENCRYPTION_KEYS": "characters", "GATEWAY_FORM_BODY_LIMIT": "16KiB",
            ])
        #expect(try await gateway.form("no", "app_1", Sample.receipt(0)).http == 401)
        #expect(try await gateway.form("act_shop", "app_2", Sample.receipt(0)).http == 403)
        #expect(try await gateway.form("act_shop", "app_1", "AQID").http == 200)
        #expect(try await gateway.form("act_shop", "app_1", String(repeating: "A", count: 16 << 10)).http == 413)
        let reply = try await gateway.form("act_shop", "app_1", Sample.receipt(0), to: "/apiencrypted")
        #expect(reply.contentType == "application/json")
        let quoted = try JSONSerialization.jsonObject(with: reply.body, options: .fragmentsAllowed) as? String
        let bare = FormReply(.init(status: 200, headers: [:], body: Data(try #require(quoted).utf8)))
        let hexadecimal = key.utf8.map { String(format: "%02x", $0) }.joined()
        #expect(try await bare.decrypted(with: hexadecimal)["status"] as? Int == 0)
    }

    // MARK: - Secrecy and Apple's receipts

    @Test func `no key, token or receipt reaches the log`() async throws {
        let gateway = try await withoutApple(shop())
        let receipt = Sample.receipt(0)
        for path in Self.paths {
            _ = try await gateway.form("act_shop", "app_1", receipt, to: path)
            _ = try await gateway.form("act_shop", "wrong_token", receipt, to: path)
            _ = try await gateway.form("wrong_key", "app_1", receipt, to: path)
        }
        try await eventually("six lines") {
            gateway.transcript.lines.count { $0.contains(#""route":"/api"#) } == 6
        }
        let log = gateway.transcript.lines.joined()
        for secret in ["act_shop", "app_1", "wrong_token", "wrong_key", String(receipt.prefix(40))] {
            #expect(!log.contains(secret), "\(secret)")
        }
        #expect(log.contains(#""client":"shop/form""#))
        #expect(try await Scrape(gateway)[#"http_requests_total{route="/api",method="POST",code="200"}"#] == 3)
    }

    @Test(.enabled(if: RealCorpus.receipts != nil, "set RECEIPT_CORPUS to a folder of real receipts"))
    func `Apple's receipts through both paths`() async throws {
        let entries = try RealReceipts.entries()
        let stage = try await FormStage([])
        let bundles = Set(entries.map(\.bundle_id)).filter { !$0.isEmpty }.sorted()
        let apps = bundles.enumerated().map { stage.app("app_\($0)", "\"\($1)\"", encrypts: true) }
        try await stage.write([.init(name: "all", key: "k", apps: apps)])
        let gateway = try await withoutApple(stage)
        var valid = 0
        for entry in entries {
            let token = bundles.firstIndex(of: entry.bundle_id).map { "app_\($0)" } ?? "app_0"
            let receipt = try RealReceipts.text(of: entry).filter { !$0.isWhitespace }
            let clear = try await gateway.form("k", token, receipt)
            let encrypted = try await gateway.form("k", token, receipt, to: "/apiencrypted")
            guard entry.verdict == "genuine" else {
                #expect([21002, 21003].contains(clear.status) && encrypted.status == clear.status, "\(entry.file)")
                continue
            }
            valid += 1
            #expect(clear.status == 0, "\(entry.file): \(clear.json)")
            let decrypted = try await encrypted.decrypted()
            #expect((decrypted["receipt"] as? [String: Any])?["bundle_id"] as? String == entry.bundle_id)
        }
        #expect(valid > 0 && entries.count > valid)
    }

    /// Runs a test with the account of `shop` and a simulated Apple.
    private func withShop(_ scenario: String = "", _ test: (Stage) async throws -> Void) async throws {
        let stage = try await shop()
        try await withStage(scenario, stage.settings, test)
        withExtendedLifetime(stage) {}
    }

    private func withoutApple(
        _ stage: FormStage, _ settings: [String: String] = [:]
    ) async throws -> RunningGateway {
        let root = try stage.folder.write(Sample.pki.rootPEM, to: "root.pem")
        let usual = stage.settings.merging(["GATEWAY_TRUST_ROOTS": root + "=Sandbox+Production"]) { $1 }
        return try await RunningGateway(usual.merging(settings) { $1 })
    }
}

extension Sequence {
    /// Transforms the elements one after another.
    fileprivate func async<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
