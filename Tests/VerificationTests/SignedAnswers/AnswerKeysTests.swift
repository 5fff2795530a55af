// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import NIOHTTP1
import Receipts
import Testing

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("The keys of signed answers")
struct AnswerKeysTests {
    /// The key of RFC 7515 §A.3.1.
    private static let vector = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
        -----END PRIVATE KEY-----
        """

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: - The key set

    @Test func `a public key is published as a JWK with its thumbprint, and without the private number`() throws {
        let key = try #require(ECSigningKey(pem: Array(Self.vector.utf8)))
        let keys = AnswerKeys(signingWith: key, lifetime: .seconds(60))
        #expect(
            String(decoding: keys.keySet, as: UTF8.self)
                == #"{"keys":[{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
                + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","#
                + #""kid":"oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U","use":"sig","alg":"ES256"}]}"#)
    }

    @Test func `keys are equal by their order and lifetime`() throws {
        let (seven, eight) = try (#require(ECSigningKey(repeating: 7)), #require(ECSigningKey(repeating: 8)))
        let keys = [
            AnswerKeys(signingWith: seven, publishing: [eight], lifetime: .seconds(60)),
            AnswerKeys(signingWith: eight, publishing: [seven], lifetime: .seconds(60)),
            AnswerKeys(signingWith: seven, publishing: [eight], lifetime: .seconds(61)),
            AnswerKeys(signingWith: seven, lifetime: .seconds(60)),
        ]
        #expect(Set(keys).count == 4)
        #expect(keys[0] == AnswerKeys(signingWith: seven, publishing: [eight], lifetime: .seconds(60)))
    }

    // MARK: - Settings

    private static let files = [
        "7.pem": ServerAPIKeyFixture.pem(7), "8.pem": ServerAPIKeyFixture.pem(8), "384.pem": ServerAPIKeyFixture.onP384,
        "sealed.pem": ServerAPIKeyFixture.withPassphrase,
    ]

    @Test(arguments: [
        ("7.pem", []), ("7.pem, 8.pem", []),
        ("none.pem", ["none.pem does not exist"]),
        ("7.pem,384.pem", ["384.pem must hold a private key for P-256 in PEM, without a passphrase"]),
        ("sealed.pem", ["sealed.pem must hold a private key for P-256 in PEM, without a passphrase"]),
        ("7.pem,8.pem,7.pem", ["7.pem has the key of an earlier file"]),
        (
            "384.pem,none.pem",
            ["384.pem must hold a private key for P-256 in PEM, without a passphrase", "none.pem does not exist"]
        ),
    ])
    func `files with faults are problems of the configuration, all at once`(paths: String, faults: [String]) {
        let name = "GATEWAY_SIGNED_ANSWERS_KEY_FILES"
        #expect(configurationProblems([name: paths], files: Self.files) == faults.map { "\(name): \($0)" })
    }

    @Test func `nine keys are too many`() {
        let files = Dictionary(uniqueKeysWithValues: (1...9).map { ("\($0).pem", ServerAPIKeyFixture.pem($0)) })
        let name = "GATEWAY_SIGNED_ANSWERS_KEY_FILES"
        let paths = files.keys.sorted()
        #expect(
            configurationProblems([name: paths.joined(separator: ",")], files: files) == [
                "\(name): takes at most 8 files"
            ])
        #expect(configurationProblems([name: paths.dropLast().joined(separator: ",")], files: files).isEmpty)
    }

    @Test func `paths of a file begin at its folder`() throws {
        let configuration = try loadConfiguration(
            files: [
                "/etc/gateway.yaml": "gateway: {signed_answers: {key_files: [a.pem, /run/b.pem], lifetime: 1h}}",
                "/etc/a.pem": ServerAPIKeyFixture.pem(7), "/run/b.pem": ServerAPIKeyFixture.pem(8),
            ], path: "/etc/gateway.yaml")
        #expect(configuration.signedAnswers.keyFiles == ["/etc/a.pem", "/run/b.pem"])
        #expect(configuration.signedAnswers.lifetime == .seconds(3600))
    }

    @Test func `a client that has all its answers signed needs keys`() throws {
        let client = """
            clients: [{name: shop, apps: '*', signed_answers: true, \(ClientsFile.unusedKeys)}]
            """
        let files = ["clients.yaml": client, "7.pem": ServerAPIKeyFixture.pem(7)]
        let settings = [
            "GATEWAY_CLIENTS_FILE": "clients.yaml", "GATEWAY_API_KEY_PEPPER": "a pepper of at least sixteen bytes",
        ]
        #expect(
            configurationProblems(settings, files: files) == [
                "clients.yaml:1: signed_answers needs keys: set gateway.signed_answers.key_files"
            ])
        let complete = settings.merging(["GATEWAY_SIGNED_ANSWERS_KEY_FILES": "7.pem"]) { $1 }
        #expect(configurationProblems(complete, files: files).isEmpty)
        #expect(
            configurationProblems(settings, files: ["clients.yaml": client.replacing("true", with: "false")]).isEmpty)
    }

    @Test(arguments: ["undecided", "degraded"])
    func `a client whose answers are all signed has none deferred`(policy: String) {
        func problems(_ policy: String) -> [String] {
            let client = "{name: shop, apps: '*', \(ClientsFile.unusedKeys), signed_answers: true, defer: \(policy)}"
            return configurationProblems(reading: { try ClientsFile("clients: [\(client)]", signsAnswers: true) })
        }
        #expect(
            problems(policy) == [
                "clients.yaml:1: signed answers are never deferred: remove defer, or signed_answers"
            ])
        #expect(problems("on_request").isEmpty)
    }

    @Test func `the doctor names the key that signs`() throws {
        for key: UInt8 in [7, 8] { try folder.write(ServerAPIKeyFixture.pem(key), to: "\(key).pem") }
        var configuration = GatewayConfiguration()
        configuration.apple.isEnabled = false
        func seen() -> String? {
            let report = CheckReport(.certificates)
            AreaCheck(configuration: configuration, report: report).checkCertificates()
            return report.close().first { $0.subject == "answers" }?.seen
        }
        #expect(seen() == nil)
        configuration.signedAnswers.keyFiles = ["7.pem", "8.pem"].map { folder.path($0) }
        let name = try #require(ECSigningKey(repeating: 7)).thumbprint
        #expect(seen() == "the key \(name) signs answers; other keys published: 1")
    }

    // MARK: - Rotation

    @Test func `replaced files are noticed, sign new answers, and outdate cached ones`() throws {
        try folder.write(ServerAPIKeyFixture.pem(7), to: "first.pem")
        try folder.write(ServerAPIKeyFixture.pem(8), to: "second.pem")
        try folder.write("gateway: {signed_answers: {key_files: [first.pem, second.pem]}}", to: "gateway.yaml")
        let source = ConfigurationSource(environment: [:], filePath: folder.path("gateway.yaml"))
        let files = FileReadings()
        let read = try source.load(readFile: files.read)
        let access = CurrentAccess(Access(AccessRules(read, nil, try AnswerKeys(read, readFile: files.read))))
        let verifier = CurrentVerifier(ReceiptVerifier(trustStore: try TrustStore(read)))
        var reloader = Reloader(source, files: files, read, access, verifier)
        let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
        let first = try #require(access.now.rules.answerKeys)
        #expect(reloader.reload(at: now).result == .unchanged && access.now.rules.answerKeys === first)

        try folder.write(ServerAPIKeyFixture.pem(9), to: "second.pem")
        let checks = [reloader.checkFiles(), reloader.checkFiles()]
        #expect(checks == [false, true])
        let published = reloader.reload(at: now)
        #expect(published.changed == ["gateway.signed_answers"] && published.awaitingRestart == [])
        let second = try #require(access.now.rules.answerKeys)
        #expect(second.signingKey == first.signingKey && second.keySet != first.keySet)
        #expect(access.now.answersVersion == 1)

        try folder.write(
            "gateway: {signed_answers: {key_files: [second.pem, first.pem], lifetime: 60s}}", to: "gateway.yaml")
        #expect(reloader.reload(at: now).changed == ["gateway.signed_answers"])
        #expect(access.now.rules.answerKeys?.signingKey == ECSigningKey(repeating: 9))
        #expect(access.now.rules.answerKeys?.lifetime == .seconds(60) && access.now.answersVersion == 2)

        try folder.write("no key", to: "first.pem")
        let refused = reloader.reload(at: now)
        #expect(refused.result == .refused && refused.problems.count == 1)
        #expect(refused.problems.first?.contains("first.pem must hold a private key") == true)
        #expect(access.now.rules.answerKeys?.signingKey == ECSigningKey(repeating: 9))
    }

    // MARK: - Repetition

    @Test func `a signature is repeated until half of its lifetime, and not after the clock was set back`() throws {
        let (terms, signature, plain) = try Self.sample()
        let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
        #expect(signature.reply(at: now) == nil)
        let signed = signature.signed(plain, under: terms, at: now)
        for milliseconds in [0, 29_999] {
            let repeated = signature.reply(at: now.advanced(by: .milliseconds(milliseconds)))
            #expect(repeated?.body.bytes == signed.body.bytes)
        }
        for milliseconds in [-1, 30_000] {
            #expect(signature.reply(at: now.advanced(by: .milliseconds(milliseconds))) == nil)
        }
        let later = now.advanced(by: .seconds(30))
        let next = signature.signed(plain, under: terms, at: later)
        #expect(signature.reply(at: later)?.body.bytes == next.body.bytes && next.body.bytes != signed.body.bytes)
    }

    @Test func `a signature for a nonce is not kept`() throws {
        let (terms, signature, plain) = try Self.sample(["Gateway-Nonce": "AAECAwQFBgcICQoL"])
        let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
        _ = signature.signed(plain, under: terms, at: now)
        #expect(signature.reply(at: now) == nil)
    }

    @Test func `the memory of the signed form is counted before it is made`() throws {
        let (terms, signature, plain) = try Self.sample()
        let signed = signature.signed(plain, under: terms, at: Timestamp(millisecondsSince1970: 0))
        #expect(signed.body.count <= signature.byteCount(for: plain.body.count))
    }

    private static func sample(
        _ fields: [String: String] = [:]
    ) throws -> (SignatureTerms, RepeatedSignature, Reply) {
        let key = try #require(ECSigningKey(repeating: 7))
        let access = Access(AccessRules(answerKeys: AnswerKeys(signingWith: key, lifetime: .seconds(60))))
        let header = try RequestContext.forTests(
            .init(fields.map { ($0.key, $0.value) } + [("Accept", "application/jose")])
        ).header
        let terms = try #require(try SignatureTerms.of(header, .loopback, access))
        let answer = Answer(
            verdict: .undecided(.notCached),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: Timestamp(millisecondsSince1970: 0)),
            freshUntil: Timestamp(millisecondsSince1970: 0))
        let binding = AnswerBinding(VerificationRequest(.transactionID("2")), answer)
        return (terms, RepeatedSignature(binding), answer.replies(to: VerificationOptions()).first)
    }
}

extension ECSigningKey {
    /// The key whose private number repeats one byte.
    convenience init?(repeating byte: UInt8) { self.init(pem: Array(ServerAPIKeyFixture.pem(byte).utf8)) }
}

extension AnswerKeys {
    convenience init?(repeating byte: UInt8) {
        guard let key = ECSigningKey(repeating: byte) else { return nil }
        self.init(signingWith: key, lifetime: .seconds(300))
    }
}
