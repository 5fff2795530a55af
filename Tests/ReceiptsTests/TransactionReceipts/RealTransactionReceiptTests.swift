// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import Receipts
import Synchronization
import Testing

/// Transaction receipts that Apple really signed. They belong to others and are no part of this project.
@Suite(
    .enabled(
        if: RealTransactionReceipts.folder != nil,
        "Set RECEIPT_CORPUS to a folder of real receipts beside which ../transaction-receipts holds these."))
struct RealTransactionReceiptTests {
    @Test func `there are some`() throws {
        #expect(try !RealTransactionReceipts.index().isEmpty)
    }

    @Test(arguments: try RealTransactionReceipts.index().filter { $0.signature_version == 2 })
    func `one of version 2 has a weak key`(_ row: RealTransactionReceipts.Row) throws {
        let bytes = try row.bytes()
        #expect(throws: ReceiptError(.keyTooSmall)) {
            try ReceiptVerifier().verify(transactionReceipt: bytes, at: RealReceipts.now)
        }
    }

    @Test(arguments: try RealTransactionReceipts.index())
    func `one signed by Apple is genuine and says what the index says`(_ row: RealTransactionReceipts.Row) throws {
        let receipt = try RealTransactionReceipts.verifier()
            .verify(transactionReceipt: row.bytes(), at: RealReceipts.now)
        #expect(receipt.version == row.signature_version && receipt.unsignedEnvironment == row.environment)
        guard let bundleID = row.bid else { return }
        #expect(receipt.bundleID == bundleID && receipt.applicationVersion == row.bvrs)
        #expect(receipt.productID == row.product_id && receipt.transactionID == row.transaction_id)
        #expect(receipt.originalTransactionID == row.original_transaction_id && receipt.itemID == row.item_id)
        #expect(receipt.uniqueIdentifier == row.unique_identifier)
        #expect(receipt.quantity.map { "\($0)" } == row.quantity)
        #expect("\(receipt.purchaseDate.millisecondsSince1970)" == row.purchase_date_ms)
        #expect(receipt.expiresDate.map { "\($0.millisecondsSince1970)" } == row.expires_date)
    }

    @Test func `their intermediates are known`() throws {
        let seen = Mutex<[VerifiedChainInfo]>([])
        let verifier = RealTransactionReceipts.verifier { chain in seen.withLock { $0.append(chain) } }
        for row in try RealTransactionReceipts.index() {
            _ = try verifier.verify(transactionReceipt: row.bytes(), at: RealReceipts.now)
        }
        let chains = seen.withLock { $0 }
        #expect(!chains.isEmpty && chains.allSatisfy { $0.isApples && !$0.hasUnknownIntermediate })
    }

    @Test(arguments: try RealTransactionReceipts.index())
    func `a changed byte is noticed unless it is unsigned`(_ row: RealTransactionReceipts.Row) throws {
        let bytes = try row.bytes(), verifier = RealTransactionReceipts.verifier()
        let genuine = try verifier.verify(transactionReceipt: bytes, at: RealReceipts.now)
        for place in stride(from: 0, to: bytes.count, by: 16) {
            var changed = bytes
            changed[place] ^= 0x01
            let receipt = try? verifier.verify(transactionReceipt: changed, at: RealReceipts.now)
            #expect(receipt == nil || receipt?.identity == genuine.identity)
        }
    }
}

enum RealTransactionReceipts {
    static let folder = RealCorpus.folder(besideReceipts: "transaction-receipts")

    /// A row of `index.json`; some have no fields.
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let environment: String
        let signature_version: Int
        let bid, bvrs, product_id, transaction_id, original_transaction_id, purchase_date_ms: String?
        let quantity, item_id, unique_identifier, expires_date: String?
    }

    static func index() throws -> [Row] { try RealCorpus.index(of: folder) }

    static func verifier(
        onNewChain: @escaping @Sendable (VerifiedChainInfo) -> Void = { _ in }
    ) -> ReceiptVerifier {
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = true
        return ReceiptVerifier(policy: policy, onNewChain: onNewChain)
    }
}

extension RealTransactionReceipts.Row {
    var testDescription: String { file }

    func bytes() throws -> [UInt8] {
        let folder = try #require(RealTransactionReceipts.folder)
        return try Base64.decode(String(contentsOf: folder.appending(path: file), encoding: .utf8))
    }
}
