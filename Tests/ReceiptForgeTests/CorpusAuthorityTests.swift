// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptForge
import Receipts
import Testing

/// Tests that the keys of a corpus are recreated from its folder.
struct CorpusAuthorityTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "receipt-forge-\(UUID().uuidString)")

    /// The files of one corpus. The keys of a corpus take seconds in a debug build.
    private static let files = Task {
        let folder = FileManager.default.temporaryDirectory.appending(path: "receipt-forge-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await CorpusWriter(directory: folder.path).write(Corpus(seed: .max, genuineReceipts: 1))
        return try ["pki.json", "root.pem", "jws-root.pem"].map {
            ($0, try Data(contentsOf: folder.appending(path: $0)))
        }
    }

    private func withCorpus(_ body: () throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, contents) in try await Self.files.value { try contents.write(to: folder.appending(path: name)) }
        try body()
    }

    private func put(_ text: String, in file: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: file))
    }

    @Test func `the authority of a folder signs as the one that wrote it`() async throws {
        try await withCorpus {
            let contents = ReceiptContents(bundleID: "com.example.app", creationDate: UTCDate(2026, 1, 1))
            let pki = try ForgedPKI(corpusDirectory: folder.path)
            #expect(pki.sign(contents) == ForgedPKI(seed: .max).sign(contents))
        }
    }

    @Test func `a folder without a seed is refused`() async throws {
        #expect(throws: CorpusAuthorityError.notRecorded(directory: folder.path)) {
            try ForgedPKI(corpusDirectory: folder.path)
        }
    }

    @Test(arguments: ["", "{}", "{\"seed\": -1}", "7"])
    func `a seed that is none is refused`(text: String) async throws {
        try await withCorpus {
            try put(text, in: "pki.json")
            #expect(throws: CorpusAuthorityError.self) { try ForgedPKI(corpusDirectory: folder.path) }
        }
    }

    @Test func `a seed of another root is refused`() async throws {
        try await withCorpus {
            try put("{\"seed\": 1}", in: "pki.json")
            #expect(throws: CorpusAuthorityError.signedByAnother(directory: folder.path, file: "root.pem")) {
                try ForgedPKI(corpusDirectory: folder.path)
            }
        }
    }

    @Test func `the authority of signed data has the root in the folder`() async throws {
        try await withCorpus {
            let pki = try TransactionPKI(corpusDirectory: folder.path)
            let text = try String(contentsOf: folder.appending(path: "jws-root.pem"), encoding: .utf8)
            #expect(pki.root.pem == text)
            let anchor = try TrustAnchor(der: pki.root.der, environments: [.sandbox])
            let verifier = ReceiptVerifier(trustStore: TrustStore(anchors: [anchor]))
            let now = TransactionContents.signedByDefault
            #expect(
                try verifier.verifyTransaction(pki.jws(TransactionContents()), at: now).transactionID.isEmpty == false)
        }
    }

    @Test(arguments: [
        "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", TransactionPKI(seed: 99).root.pem,
    ])
    func `a root of signed data from elsewhere is refused`(text: String) async throws {
        try await withCorpus {
            try put(text, in: "jws-root.pem")
            #expect(throws: CorpusAuthorityError.signedByAnother(directory: folder.path, file: "jws-root.pem")) {
                try TransactionPKI(corpusDirectory: folder.path)
            }
        }
    }

    @Test func `the Server API key follows from the corpus`() async throws {
        try await withCorpus {
            let (one, other) = (
                try ForgedAPIKey(corpusDirectory: folder.path), try ForgedAPIKey(corpusDirectory: folder.path)
            )
            #expect(one.privateKeyPEM == other.privateKeyPEM && one.keyID == other.keyID)
            #expect(one.keyID.count == 10 && UUID(uuidString: one.issuerID) != nil)
            let message = Array("message".utf8)
            let token = one.token(header: "{}", claims: "{}").split(separator: ".")
            let decoded = Base64URLDecoder.decode(token[2].utf8.span)
            let signature = try #require(decoded)
            let input = Array("\(token[0]).\(token[1])".utf8)
            #expect(other.isValid(signature, over: input) && !other.isValid(signature, over: message))
            #expect(!ForgedAPIKey(seed: 99).isValid(signature, over: input) && !other.isValid([], over: input))
        }
    }
}
