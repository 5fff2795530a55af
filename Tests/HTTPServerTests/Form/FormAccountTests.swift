// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import Gateway
import Receipts
import Testing

@testable import Clients
@testable import ServerTestSupport

/// Form accounts: the clients file, and the right pairs of key and token.
struct FormAccountTests {
    private static let pepper = RunningGateway.pepper
    private static let now = Timestamp(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01
    private static let hasher = FormKeyHasher(pepper: pepper)

    // MARK: - Reading

    @Test func `an account has its keys, apps and limits`() throws {
        let accounts = try read(
            """
            clients:
            - name: shop
              form:
                keys:
                - {hash: "\(hash("act_1"))", expires: 2026-02-28}
                apps:
                - token: app_1
                  bundle_id: com.example.a
                  encryption_key_file: key
                  shared_secret: 0123456789abcdef
                - {token: app_2, bundle_id: com.example.b}
                concurrency: 7
            """, files: ["key": "000102030405060708090a0b0c0d0e0f\n"])
        let account = try #require(accounts.first)
        #expect(accounts.count == 1 && account.client.name == "shop/form" && account.client.keys == [])
        #expect(account.client.apps == .only(["com.example.a", "com.example.b"]) && account.client.may == [])
        #expect(account.client.limits.concurrency == 7)
        #expect(account.client.limits.policies.map(\.subject) == [.address])
        let key = try #require(AESCBCEncryption(key: Array(0..<16)))
        #expect(account.apps.map(\.encryption) == [key, nil])
        #expect(account.apps.map(\.sharedSecret) == [Secret("0123456789abcdef"), nil])
        #expect(account.keys.map { $0.expires.isAhead(of: Self.now) } == [true])
    }

    @Test func `a client may have API keys and form keys`() throws {
        let text = """
            clients:
            - name: shop
              apps: [com.example.a]
              \(ClientsFile.unusedKeys)
              form: {keys: [{hash: "\(hash("act_1"))"}], apps: [{token: t, bundle_id: com.example.a}]}
            """
        let file = try ClientsFile(text, at: Self.now, formRules: rules())
        #expect(file.clients.map(\.name) == ["shop"] && file.formAccounts.map(\.client.name) == ["shop/form"])
    }

    @Test(arguments: [
        ("00112233445566778899aabbccddeeff", EncryptionKeyForm.encoded, 16),
        (String(repeating: "0A", count: 32), .encoded, 32),
        ("AAECAwQFBgcICQoLDA0ODw==", .encoded, 16),
        ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", .encoded, 32),
        ("sixteen letters!", .characters, 16),
        ("thirty-two letters make a key :)", .characters, 32),
        ("00112233445566778899aabbccddeeff", .characters, 32),
    ]) func `a key has one of two forms`(text: String, form: EncryptionKeyForm, byteCount: Int) throws {
        let bytes: [UInt8] =
            switch (form, text.count) {
            case (.characters, _): Array(text.utf8)
            case (_, 24), (_, 44): try Base64.decode(text)
            default: Array(Data(hexadecimal: text))
            }
        #expect(bytes.count == byteCount)
        #expect(form.encryption(text) == AESCBCEncryption(key: bytes))
    }

    @Test(arguments: [
        "", "short", "0011223344556677889aabbccddeef", "00112233445566778899aabbccddeefg", "AAECAwQFBgcICQoLDA0ODxA=",
        "AAECAwQFBgcICQoLDA0ODw", String(repeating: "0", count: 48),
    ]) func `another length or another alphabet is no key`(text: String) {
        #expect(EncryptionKeyForm.encoded.encryption(text) == nil)
    }

    @Test func `a sealed key opens with its pepper only`() throws {
        let sealed = ClientsFileSeal(pepper: Self.pepper).seal(Secret("AAECAwQFBgcICQoLDA0ODw=="))
        let text = """
            clients:
            - name: shop
              form:
                keys: [{hash: "\(hash("act_1"))"}]
                apps: [{token: t, bundle_id: com.example.a, encryption_key: "\(sealed)"}]
            """
        let file = try ClientsFile(text, at: Self.now, formRules: rules())
        #expect(file.formAccounts.first?.apps.first?.encryption == AESCBCEncryption(key: Array(0..<16)))
        let other = FormAccountRules(pepper: Secret("another pepper of sixteen"))
        let problems = #expect(throws: ConfigurationProblems.self) {
            try ClientsFile(text, at: Self.now, formRules: other)
        }
        #expect(problems?.description.contains("seal-key") == true)
        #expect(problems?.description.contains(sealed) == false)
    }

    @Test(arguments: [
        ("form: {keys: [], apps: []}\n  limits: []", "limits is for API keys"),
        ("form: {apps: []}", "form needs keys"),
        ("form: {keys: []}", "form needs apps"),
        ("form: {keys: [{hash: plain}], apps: []}", "hash must be hmac-sha256:"),
        ("form: {keys: [{id: a}], apps: []}", "a name is not a field here (hash, expires"),
        ("form: {keys: [], apps: [{token: t}]}", "bundle_id is missing"),
        ("form: {keys: [], apps: [{bundle_id: b}]}", "token is missing"),
        (
            "form: {keys: [], apps: [{token: t, bundle_id: b}, {token: t, bundle_id: c}]}",
            "two apps have the same token"
        ),
        ("form: {keys: [], apps: [{token: t, bundle_id: b, encryption_key: AAECAwQFBgcICQoLDA0ODw==}]}", "sealed"),
        ("form: {keys: [], apps: [{token: t, bundle_id: b, encryption_key_file: none}]}", "encryption_key_file"),
        ("form: {keys: [], apps: [{token: t, bundle_id: b, encryption_key_file: bad}]}", "16 or 32 bytes"),
        (
            "form: {keys: [], apps: [{token: t, bundle_id: b, shared_secret: a, shared_secret_file: b}]}",
            "both set"
        ),
    ]) func `a fault is named`(client: String, problem: String) {
        let problems = #expect(throws: ConfigurationProblems.self) {
            try read("clients:\n- name: shop\n  \(client)", files: ["bad": "AAEC"])
        }
        #expect(problems?.description.contains(problem) == true, "\(problems?.description ?? "")")
    }

    @Test func `no two clients have one key`() {
        let key = "form: {keys: [{hash: \"\(hash("act_1"))\"}], apps: [{token: t, bundle_id: b}]}"
        let problems = #expect(throws: ConfigurationProblems.self) {
            try read("clients:\n- name: a\n  \(key)\n- name: b\n  \(key)")
        }
        #expect(problems?.description.contains("this key is there twice") == true)
    }

    // MARK: - Authentication

    @Test func `a token is valid with its own account's key only`() throws {
        let accounts = ["a", "b"].map { name in
            FormAccount(
                client: Client(name: name, apps: .all, keys: []),
                keys: [1, 2].map { FormKey(hash: storedHash("key-\(name)\($0)"), expires: nil) },
                apps: [1, 2].map {
                    FormApp(
                        token: Secret("token-\(name)\($0)"), bundleID: "app.\(name)\($0)", encryption: nil,
                        sharedSecret: nil)
                })
        }
        let authenticator = FormAuthenticator(accounts: accounts, hasher: Self.hasher)
        for (key, token) in ["a", "b"].flatMap({ key in ["a", "b"].map { (key, $0) } }) {
            for (keyNumber, tokenNumber) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let found = Result { () throws(FormCredentialFault) in
                    try authenticator.access("key-\(key)\(keyNumber)", "token-\(token)\(tokenNumber)", Self.now)
                }
                switch found {
                case .success(let access):
                    #expect(key == token && access.client.name == key)
                    #expect(access.app.bundleID == "app.\(token)\(tokenNumber)")
                case .failure(let fault): #expect(key != token && fault == .token(accounts[key == "a" ? 0 : 1].client))
                }
            }
        }
    }

    @Test(arguments: ["", "act_", "act_1 ", "ACT_1", "act_2", "act_1\0", String(repeating: "a", count: 300)])
    func `another key is wrong`(key: String) {
        #expect(throws: FormCredentialFault.key) { try authenticator().access(key, "app_1", Self.now) }
    }

    @Test func `an expired key is wrong`() throws {
        let expiring = authenticator(expires: Self.now)
        #expect(throws: FormCredentialFault.key) { try expiring.access("act_1", "app_1", Self.now) }
        #expect(try expiring.access("act_1", "app_1", Self.now.advanced(by: .seconds(-1))).client.name == "shop/form")
    }

    @Test func `an API key's hash is not the hash of the same text as a form key`() {
        let text = "the same text"
        #expect(KeyHasher(pepper: Self.pepper).hash(Secret(text)) != storedHash(text))
        #expect(Self.hasher.hash(ofToken: Array(text.utf8).span) != storedHash(text))
    }

    @Test func `answers from before a change of accounts are not reused`() {
        let rules = AccessRules(clients: [], pepper: Self.pepper)
        let access = Access(rules)
        #expect(
            access.followed(by: rules).answersVersion == access.answersVersion && !access.formAuthenticator.hasAccounts)
        var changed = rules
        changed.formAccounts = [account()]
        let next = access.followed(by: changed)
        #expect(next.answersVersion == access.answersVersion + 1 && next.formAuthenticator.hasAccounts)
    }

    // MARK: - Samples

    private func account(expires: Timestamp? = nil) -> FormAccount {
        FormAccount(
            client: Client(name: "shop/form", apps: .only(["com.example.a"]), keys: []),
            keys: [FormKey(hash: storedHash("act_1"), expires: expires)],
            apps: [FormApp(token: Secret("app_1"), bundleID: "com.example.a", encryption: nil, sharedSecret: nil)])
    }

    private func authenticator(expires: Timestamp? = nil) -> FormAuthenticator {
        FormAuthenticator(accounts: [account(expires: expires)], hasher: Self.hasher)
    }

    private func storedHash(_ key: String) -> [UInt8] { Self.hasher.hash(ofKey: Array(key.utf8).span) }

    private func hash(_ key: String) -> String {
        "hmac-sha256:" + storedHash(key).map { String(format: "%02x", $0) }.joined()
    }

    private func rules() -> FormAccountRules { FormAccountRules(pepper: Self.pepper) }

    private func read(
        _ text: String, files: [String: String] = [:]
    ) throws(ConfigurationProblems) -> [FormAccount] {
        try ClientsFile(text, at: Self.now, files: files, formRules: rules()).formAccounts
    }
}

extension FormAuthenticator {
    fileprivate func access(
        _ key: String, _ token: String, _ now: Timestamp
    ) throws(FormCredentialFault) -> FormAccess {
        try access(key: Array(key.utf8).span, token: Array(token.utf8).span, at: now)
    }
}

extension Data {
    fileprivate init(hexadecimal text: String) {
        let digits = Array(text)
        self.init(stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) })
    }
}
