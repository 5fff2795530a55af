// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import Receipts
import Testing

/// Receipts that Apple and Xcode really signed. They belong to others and are no part of this project.
@Suite(
    .enabled(
        if: RealCorpus.receipts != nil,
        "Set the environment variable RECEIPT_CORPUS to a folder of real receipts (index.json and the files it names).")
)
struct RealReceiptTests {
    @Test func `the corpus has receipts of Apple's sandbox and of Xcode`() throws {
        let rows = try RealReceipts.index()
        #expect(rows.contains { $0.isGenuine } && rows.contains { $0.environment == "Xcode" })
    }

    @Test(arguments: try RealReceipts.index().filter(\.isGenuine))
    func `a receipt signed by Apple is genuine and says what the index says`(_ row: RealReceipts.Row) throws {
        let receipt = try ReceiptVerifier().verify(row.bytes(), at: RealReceipts.now)
        #expect(receipt.environment == .sandbox && receipt.receiptType == row.environment)
        try row.expectContents(of: receipt)
    }

    @Test(arguments: try RealReceipts.index().filter { !$0.isGenuine })
    func `a receipt made by Xcode is rejected`(_ row: RealReceipts.Row) throws {
        let bytes = try row.bytes()
        #expect(throws: ReceiptError.self) { try ReceiptVerifier().verify(bytes, at: RealReceipts.now) }
    }

    @Test(arguments: try RealReceipts.index().filter { !$0.isGenuine })
    func `a receipt made by Xcode is genuine under its own root for environment Xcode`(_ row: RealReceipts.Row) throws {
        let bytes = try row.bytes()
        let certificate = try #require(RealReceipts.firstCertificate(in: bytes))
        var store = TrustStore.apple
        store.add(try TrustAnchor(der: certificate, environments: [.xcode]))
        let receipt = try ReceiptVerifier(trustStore: store).verify(bytes, at: RealReceipts.now)
        #expect(receipt.environment == .xcode && receipt.receiptType == "Xcode")
        try row.expectContents(of: receipt)
        // The same root for any other environment is not enough.
        var sandbox = TrustStore.apple
        sandbox.add(try TrustAnchor(der: certificate, environments: [.sandbox, .production]))
        #expect(throws: ReceiptError.self) {
            try ReceiptVerifier(trustStore: sandbox).verify(bytes, at: RealReceipts.now)
        }
    }

    @Test(arguments: try RealReceipts.index().filter(\.isGenuine))
    func `a changed byte of what Apple signed is noticed`(_ row: RealReceipts.Row) throws {
        let bytes = try row.bytes()
        let verifier = ReceiptVerifier()
        let content = try verifier.verify(bytes, at: RealReceipts.now).signedContent.count
        // The content is in the first bytes of the container; sixteen positions are spread over it.
        for place in stride(from: 64, to: content, by: max(1, content / 16)) {
            var changed = bytes
            changed[place] ^= 0x01
            #expect(throws: ReceiptError.self) { try verifier.verify(changed, at: RealReceipts.now) }
        }
    }
}

enum RealReceipts {
    static let now = Timestamp.now()

    /// The used fields of a row of `index.json`.
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let environment: String
        let bundle_id: String
        let app_version: String
        let receipt_creation_date: String
        let purchases: Int
        let expected: String
    }

    static func index() throws -> [Row] { try RealCorpus.index(of: RealCorpus.receipts) }

    /// Returns the first certificate in a container, found by its shape: a SEQUENCE whose TBSCertificate is version 3.
    static func firstCertificate(in receipt: [UInt8]) -> [UInt8]? {
        let version: [UInt8] = [0xA0, 0x03, 0x02, 0x01, 0x02]
        guard let position = receipt.firstRange(of: version)?.lowerBound, position >= 8 else { return nil }
        // Both headers around it have two length bytes: certificates measure 256 bytes to 64 KiB.
        let start = position - 8
        guard receipt[start] == 0x30, receipt[start + 1] == 0x82 else { return nil }
        let end = start + 4 + Int(receipt[start + 2]) << 8 + Int(receipt[start + 3])
        return end <= receipt.count ? Array(receipt[start..<end]) : nil
    }
}

extension RealReceipts.Row {
    var testDescription: String { file }
    var isGenuine: Bool { expected == "genuine" }

    func bytes() throws -> [UInt8] {
        let folder = try #require(RealCorpus.receipts)
        return try Base64.decode(String(contentsOf: folder.appending(path: file), encoding: .utf8))
    }

    func expectContents(of receipt: VerifiedReceipt) throws {
        #expect(receipt.bundleID == bundle_id && receipt.applicationVersion == app_version)
        #expect(receipt.purchases.count == purchases)
        #expect(receipt.creationDate == (try RealReceipts.date(receipt_creation_date)))
    }
}

extension RealReceipts {
    /// Reads a date of the index, which has the receipt's form: with `Z`, or from Xcode with an offset like `+0300`.
    static func date(_ text: String) throws -> Timestamp {
        let date = try Date(text, strategy: .iso8601)
        return Timestamp(millisecondsSince1970: Int64(date.timeIntervalSince1970 * 1000))
    }
}
