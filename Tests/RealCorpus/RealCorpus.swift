// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Receipts that Apple and Xcode really signed, and Apple's answers. They belong to others, and stay outside this
/// repository: tests of them are skipped without their folders.
public enum RealCorpus {
    /// The folder of receipts with their `index.json`, named by RECEIPT_CORPUS.
    public static let receipts = folder(named: "RECEIPT_CORPUS")
    /// The folder of answers, each in a file with its receipt, named by RESPONSE_CORPUS or beside the receipts.
    public static let answers = folder(named: "RESPONSE_CORPUS") ?? folder(besideReceipts: "responses/pairs")

    /// The reason why tests of the answers are skipped.
    public static let answersMissing = """
        Set RESPONSE_CORPUS to a folder of pairs, a receipt with Apple's answer to it each, or RECEIPT_CORPUS to a \
        folder beside which ../responses/pairs holds them.
        """

    /// A receipt as a client sends it, and Apple's answer to it.
    public struct Pair: Sendable, CustomStringConvertible {
        /// The name of the file.
        public let description: String
        /// The receipt in base64.
        public let receiptData: String
        /// The answer as JSON.
        public let answer: Data
    }

    /// An answer about a genuine receipt.
    public struct Answer: Sendable, CustomStringConvertible {
        /// The name of the file.
        public let description: String
        /// The answer as JSON.
        public let json: Data
    }

    /// Returns an existing folder beside that of the receipts.
    public static func folder(besideReceipts path: String) -> URL? {
        let folder = receipts?.appending(path: "../" + path, directoryHint: .isDirectory).standardizedFileURL
        return folder.flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil }
    }

    private static func folder(named variable: String) -> URL? {
        ProcessInfo.processInfo.environment[variable].map { URL(filePath: $0, directoryHint: .isDirectory) }
    }

    /// Returns the rows of a folder's `index.json`; none without a folder.
    public static func index<Row: Decodable>(of folder: URL?) throws -> [Row] {
        guard let folder else { return [] }
        return try JSONDecoder().decode([Row].self, from: Data(contentsOf: folder.appending(path: "index.json")))
    }

    /// Returns the JSON files of a folder in the order of their names; none without a folder.
    public static func files(in folder: URL?) throws -> [URL] {
        guard let folder else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }

    /// Returns all receipts with Apple's answers.
    public static func pairs() throws -> [Pair] {
        try files(in: answers).map { file in
            let pair = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
            guard let receipt = pair?["receipt-data"] as? String, let answer = pair?["response"] as? [String: Any]
            else {
                throw CocoaError(.coderInvalidValue)
            }
            return Pair(
                description: file.lastPathComponent, receiptData: receipt,
                answer: try JSONSerialization.data(withJSONObject: answer, options: .sortedKeys))
        }
    }

    /// Returns all answers about genuine receipts, with and without their receipts: those of status 0, and of status 21006
    /// about expired subscriptions (iOS 6).
    public static func genuineAnswers() throws -> [Answer] {
        let paired = try pairs().map { Answer(description: $0.description, json: $0.answer) }
        let alone = try files(in: folder(besideReceipts: "responses")).map { file in
            Answer(description: file.lastPathComponent, json: try Data(contentsOf: file))
        }
        return try (paired + alone).filter { answer in
            let members = try JSONSerialization.jsonObject(with: answer.json) as? [String: Any]
            return [0, 21006].contains(members?["status"] as? Int)
        }
    }
}
