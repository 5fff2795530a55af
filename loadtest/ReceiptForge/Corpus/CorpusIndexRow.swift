// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One object of `index.json`. Absent values are written as `null`, so that all rows have the same keys.
struct CorpusIndexRow: Encodable, Sendable {
    private let file: String
    private let expected: ExpectedAnswer
    private let contents: CorpusEntry.Contents?
    private let fault: String?
    private let explanation: String

    /// Keeps the fields of the index only: the receipt may have megabytes.
    init(_ entry: CorpusEntry) {
        file = entry.fileName
        expected = entry.expected
        contents = entry.contents
        fault = entry.fault?.name
        explanation = entry.explanation
    }

    private enum CodingKeys: String, CodingKey {
        case file, expected, reason, purchases, environment, fault, explanation
        case bundleID = "bundle_id"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(expected.verdict, forKey: .expected)
        try container.encode(expected.reason, forKey: .reason)
        try container.encode(contents?.bundleID, forKey: .bundleID)
        try container.encode(contents?.purchases, forKey: .purchases)
        try container.encode(contents?.environment, forKey: .environment)
        try container.encode(fault, forKey: .fault)
        try container.encode(explanation, forKey: .explanation)
    }
}
