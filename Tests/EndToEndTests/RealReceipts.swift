// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus

/// Receipts signed by Apple, outside this repository.
enum RealReceipts {
    struct Entry: Decodable {
        let file, expected, bundle_id, receipt_creation_date: String
        let purchases: Int

        /// The first word of `rejected (why)` in the index.
        var verdict: String { String(expected.prefix { $0 != " " }) }
    }

    static func entries() throws -> [Entry] { try RealCorpus.index(of: RealCorpus.receipts) }

    /// Returns the genuine receipts with Apple's answers.
    static func answered() throws -> [(receipt: String, answer: [String: Any])] {
        try RealCorpus.pairs().compactMap { pair in
            let answer = try JSONSerialization.jsonObject(with: pair.answer) as? [String: Any] ?? [:]
            return answer["status"] as? Int == 0 ? (pair.receiptData, answer) : nil
        }
    }

    /// Returns Apple's transaction receipts in base64; none without their folder.
    static func transactionReceipts() throws -> [String] {
        guard let folder = RealCorpus.folder(besideReceipts: "transaction-receipts") else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "b64" }.sorted { $0.path < $1.path }
            .map { try String(contentsOf: $0, encoding: .utf8).filter { !$0.isWhitespace } }
    }

    static func text(of entry: Entry) throws -> String {
        guard let folder = RealCorpus.receipts else { return "" }
        return try String(contentsOf: folder.appending(path: entry.file), encoding: .utf8)
    }
}
