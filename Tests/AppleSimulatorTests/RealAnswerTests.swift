// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import AppleSimulator

/// A comparison of the simulator's answers with Apple's to the same receipts.
@Suite(
    .enabled(
        if: RealAnswers.folder != nil,
        """
        Set RESPONSE_CORPUS to a folder of pairs, a receipt with Apple's answer to it each, or RECEIPT_CORPUS to a \
        folder beside which ../responses/pairs holds them.
        """))
struct RealAnswerTests {
    @Test(arguments: try RealAnswers.pairs())
    func `the simulator answers as Apple did`(_ pair: RealAnswers.Pair) throws {
        let apple = try AppleAnswer(pair.answer)
        let ours = try TestStore().answer(to: pair.body, at: apple.status == 21007 ? .production : .sandbox)
        #expect(ours.status == apple.status && ours.environment == apple.environment)
        #expect(Set(ours.members.keys) == Set(apple.members.keys))
        #expect(Self.timeless(ours.receipt) == Self.timeless(apple.receipt))
    }

    @Test(arguments: try RealAnswers.pairs())
    func `the simulator lists what Apple listed`(_ pair: RealAnswers.Pair) throws {
        let apple = try AppleAnswer(pair.answer)
        let ours = try TestStore().answer(to: pair.body, at: .sandbox)
        guard !apple.latest.isEmpty else { return }
        #expect(Self.known(ours.latest) == Self.known(apple.latest))
        #expect(ours.renewals.count == apple.renewals.count)
        for (our, their) in zip(ours.renewals, apple.renewals) {
            #expect(Set(their.keys).isSubset(of: Set(our.keys).union(Self.onlyApple)), "\(their.keys) \(our.keys)")
        }
    }

    /// The fields of a sandbox subscription that still runs or has just ended.
    private static let onlyApple: Set<String> = ["expiration_intent", "is_in_billing_retry_period"]

    private static func timeless(_ receipt: [String: Any]) -> NSDictionary {
        receipt.filter { !$0.key.hasPrefix("request_date") } as NSDictionary
    }

    /// Returns the elements by transaction, without the fields that no receipt has.
    private static func known(_ list: [[String: Any]]) -> [String: [String: String]] {
        let unknown: Set = ["in_app_ownership_type", "subscription_group_identifier"]
        let elements = list.map { element in
            let fields = element.compactMapValues { $0 as? String }
            return (fields["transaction_id"] ?? "", fields.filter { !unknown.contains($0.key) })
        }
        return Dictionary(elements) { first, _ in first }
    }
}

/// The files of pairs, and their format.
enum RealAnswers {
    static let folder: URL? = {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["RESPONSE_CORPUS"] { return URL(filePath: path, directoryHint: .isDirectory) }
        guard let receipts = environment["RECEIPT_CORPUS"] else { return nil }
        let sibling = URL(filePath: receipts, directoryHint: .isDirectory).appending(path: "../responses/pairs")
            .standardizedFileURL
        return FileManager.default.fileExists(atPath: sibling.path) ? sibling : nil
    }()

    /// The body of a call, and Apple's answer as JSON.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let answer: Data

        init(_ file: URL) throws {
            let pair = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
            testDescription = file.lastPathComponent
            let receipt = try #require(pair?["receipt-data"] as? String)
            body = String(
                decoding: try JSONSerialization.data(withJSONObject: ["receipt-data": receipt]), as: UTF8.self)
            answer = try JSONSerialization.data(withJSONObject: try #require(pair?["response"]))
        }
    }

    /// Returns no pairs without a folder: the suite is skipped then.
    static func pairs() throws -> [Pair] {
        guard let folder else { return [] }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map(Pair.init)
    }
}
