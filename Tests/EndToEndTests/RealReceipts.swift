// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Receipts signed by Apple, outside this repository.
enum RealReceipts {
    static let folder = ProcessInfo.processInfo.environment["RECEIPT_CORPUS"].map { URL(filePath: $0) }

    struct Entry: Decodable {
        let file, expected, bundle_id, receipt_creation_date: String
        let purchases: Int

        /// The first word of `rejected (why)` in the index.
        var verdict: String { String(expected.prefix { $0 != " " }) }
    }

    static func entries() throws -> [Entry] {
        guard let folder else { return [] }
        return try JSONDecoder().decode([Entry].self, from: Data(contentsOf: folder.appending(path: "index.json")))
    }

    /// Returns the receipts with Apple's answers, which are stored beside the receipts.
    static func answered() throws -> [(receipt: String, answer: [String: Any])] {
        guard let pairs = folder?.appending(path: "../responses/pairs").standardizedFileURL,
            FileManager.default.fileExists(atPath: pairs.path)
        else { return [] }
        let files = try FileManager.default.contentsOfDirectory(at: pairs, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.compactMap { file in
            let pair = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
            guard let receipt = pair?["receipt-data"] as? String, let answer = pair?["response"] as? [String: Any],
                answer["status"] as? Int == 0
            else { return nil }
            return (receipt, answer)
        }
    }

    static func text(of entry: Entry) throws -> String {
        guard let folder else { return "" }
        return try String(contentsOf: folder.appending(path: entry.file), encoding: .utf8)
    }
}
