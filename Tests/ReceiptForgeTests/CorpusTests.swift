// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptForge
import Receipts
import Testing

struct CorpusTests {
    private static let corpus = Corpus(seed: 7, genuineReceipts: 40)

    @Test func `two corpora of the same seed are equal entry by entry`() {
        let again = Corpus(seed: 7, genuineReceipts: 40)
        for position in 0..<40 {
            #expect(again[position].evidence == Self.corpus[position].evidence)
        }
    }

    /// Compares with a recorded value, so that corpora of different builds can be compared by their seeds.
    @Test func `the first receipt of seed 7 is the one it always was`() {
        #expect(Fingerprint.of(Self.corpus[0].evidence.base64.utf8) == "f43ed19040bb12af")
    }

    @Test func `a larger corpus begins with the receipts of a smaller one`() {
        let larger = Corpus(seed: 7, genuineReceipts: 41)
        #expect(larger[39].evidence == Self.corpus[39].evidence)
        #expect(larger[40].fault == nil && Self.corpus[40].fault != nil)
    }

    @Test func `another seed gives other receipts`() {
        #expect(Corpus(seed: 8, genuineReceipts: 1)[0].evidence != Self.corpus[0].evidence)
    }

    @Test func `OpenSSL verifies the random receipts`() throws {
        for position in 0..<40 {
            guard case .der(let receipt) = Self.corpus[position].evidence else { continue }
            let verifier = OpenSSLVerifier(root: Self.corpus.pki.root, moment: Samples.date)
            #expect(verifier.signedContent(of: receipt) != nil)
        }
    }

    @Test func `random receipts show every state a subscription can be in`() {
        var generator = SplitMix64(seed: 7)
        let receipts = (0..<200).map { _ in ReceiptContents.random(using: &generator, purchases: 6) }
        let last = receipts.compactMap { receipt in receipt.purchases.last { $0.expiresDate != nil } }
        let purchases = receipts.flatMap(\.purchases)
        let active = zip(receipts, last).filter { receipt, purchase in
            purchase.expiresDate.map { $0 > receipt.creationDate } ?? false
        }
        #expect((60...190).contains(active.count))
        #expect(purchases.contains { $0.isTrialPeriod == true })
        #expect(purchases.contains { $0.isInIntroOfferPeriod == true })
        #expect(purchases.contains { $0.cancellationDate != nil })
        #expect(purchases.contains { $0.promotionalOfferID != nil })
        #expect(purchases.contains { $0.expiresDate == nil })
        #expect(receipts.allSatisfy { $0.purchases.count == 6 && $0.creationDate < Corpus.issuedBefore })
    }

    @Test func `a written corpus has a root, an index and the files it names`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "receipt-forge-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var written = 0
        try await CorpusWriter(directory: directory.path).write(Corpus(seed: 7, genuineReceipts: 2)) { written = $0 }
        let index = try Data(contentsOf: directory.appending(path: "index.json"))
        let rows = try JSONDecoder().decode([IndexRow].self, from: index)
        #expect(written == rows.count && rows.count == Corpus(seed: 7, genuineReceipts: 2).count)
        let root = try Data(contentsOf: directory.appending(path: "root.pem"))
        #expect(root == Data(Self.corpus.pki.rootPEM.utf8))
        for row in rows {
            #expect(FileManager.default.fileExists(atPath: directory.appending(path: row.file).path))
            let isGenuine = row.reason == nil
            #expect(isGenuine == (row.expected == "genuine"))
            #expect((row.bundle_id != nil) == (isGenuine && row.evidence == "receipt"))
        }
        #expect(Set(rows.map(\.evidence)) == ["receipt", "jws", "transaction-receipt", "notification"])
        #expect(Set(rows.map(\.file)).count == rows.count)
    }

    @Test func `a verifier with the files of a corpus gives the answers of its index`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "receipt-forge-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await CorpusWriter(directory: directory.path).write(Corpus(seed: 7, genuineReceipts: 0))
        func file(_ name: String) throws -> Data { try Data(contentsOf: directory.appending(path: name)) }
        func text(_ name: String) throws -> String { String(decoding: try file(name), as: UTF8.self) }
        var (receipts, transactions) = (TrustStore(anchors: []), TrustStore(anchors: []))
        try receipts.add(pem: text("root.pem"), environments: [.sandbox])
        try receipts.add(intermediatesPEM: text("intermediates.pem"))
        try transactions.add(pem: text("jws-root.pem"), environments: [.sandbox, .production])
        let intermediates = ["root.pem", "intermediates.pem"]
        let verifiers = [
            ["jws-root.pem"]: ReceiptVerifier(trustStore: transactions),
            intermediates: ReceiptVerifier(trustStore: receipts),
            intermediates + ["gateway.trust.transaction_receipts_v2"]: ReceiptVerifier(
                trustStore: receipts, policy: .acceptingVersion2),
        ]
        for row in try JSONDecoder().decode([IndexRow].self, from: file("index.json")) where row.evidence != "receipt" {
            let verifier = try #require(verifiers[row.needs], "\(row.file)")
            #expect(try verifier.answer(to: file(row.file), row.evidence) == row.reason, "\(row.file)")
        }
    }

    @Test func `notifications are marked as such, and no other signed data`() throws {
        let entries = Self.corpus.filter { $0.kind == .notification }
        #expect(entries.count > 10 && entries.contains { $0.expected == .genuine })
        #expect(entries.contains { $0.expected == .rejected(.itemsOfDifferentApps) })
        for entry in Self.corpus where entry.kind.isJWS {
            guard case .jws(let text) = entry.evidence else { continue }
            let payload = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst().first
            let json = payload.flatMap { Base64URLDecoder.decode(Array($0).span) } ?? []
            let isNotification = String(decoding: json, as: UTF8.self).contains(#""notificationUUID":"#)
            #expect(isNotification == (entry.kind == .notification), "\(entry.name)")
            #expect(entry.fileName.hasSuffix(".jws"))
        }
    }

    private struct IndexRow: Decodable {
        let file, evidence, expected, explanation: String
        let needs: [String]
        let reason, bundle_id, environment, fault: String?
        let purchases: Int?
    }
}

extension ReceiptVerifier {
    /// Returns the broken rule; nil if the evidence is genuine.
    fileprivate func answer(to file: Data, _ evidence: String) throws -> String? {
        let now = Corpus.issuedBefore.timestamp
        do {
            switch evidence {
            case "jws": _ = try verify(jws: Array(file), at: now)
            case "notification": _ = try verifyNotification(Array(file), at: now)
            default: _ = try verify(transactionReceipt: Base64.decode(Array(file).span), at: now)
            }
            return nil
        } catch let error as ReceiptError {
            return error.rule.rawValue
        }
    }
}

extension VerificationPolicy {
    fileprivate static var acceptingVersion2: VerificationPolicy {
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = true
        return policy
    }
}
