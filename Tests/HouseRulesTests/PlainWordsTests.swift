// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The language of code and documents: the field's terms, and actors with names.
struct PlainWordsTests {
    private static let code = ["Sources", "Tests", "docs/clients", "loadtest"]
    private static let pages = ["docs", "helm", "loadtest"]

    @Test func `documentation summaries are noun phrases or verbs in the third person`() throws {
        for file in try Repository.swiftFiles(in: Self.code) {
            let lines = [""] + file.lines.map { $0.trimmingCharacters(in: .whitespaces) }
            for (number, (above, line)) in zip(lines, lines.dropFirst()).enumerated() where !above.hasPrefix("///") {
                let isClause = line.contains(/^\/\/\/ (What|Who|Whoever|How|Where|When|Why|Whether|Nobody)\b/)
                #expect(!isClause, "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    @Test func `actors are named, and bytes are bytes`() throws {
        let files =
            try Repository.swiftFiles(in: Self.code) + Repository.files(in: Self.pages, named: /.*\.(md|yaml|tpl)/)
        #expect(files.count > 500)
        for file in files where !Self.quotes.contains(file.path) {
            for (number, line) in file.lines.enumerated() {
                #expect(!Self.namesNoActor(line) && !Self.saysOctet(line), "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    @Test func `no two top-level types of the product share a name`() throws {
        var paths: [Substring: String] = [:]
        let declaration = /(?m)^(?:[a-z@]+ )*(?:struct|class|enum|actor|protocol) (\w+)/
        for file in try Repository.swiftFiles(in: ["Sources"]) {
            for match in file.text.matches(of: declaration) where !match.output.0.contains("private ") {
                let other = paths.updateValue(file.path, forKey: match.output.1)
                #expect(other == nil, "\(match.output.1) stands in \(file.path) and \(other ?? "")")
            }
        }
        #expect(paths.count > 500)
    }

    private static func namesNoActor(_ line: Substring) -> Bool {
        line.contains(/(?i)\b(?:nobody|somebody|whoever)/) || line.contains(/[a-z](?:Nobody|Somebody)/)
    }

    /// The ASN.1 type and the media type keep their names.
    private static func saysOctet(_ line: Substring) -> Bool {
        line.replacing(/(?i)byte[-_ ]?str(?:ing|eam)/, with: "").contains(/(?i)byte/)
    }

    /// Files that quote old names, or a text that other files hash.
    private static let quotes: Set<String> = [
        "Tests/HouseRulesTests/PlainWordsTests.swift", "docs/upgrading.md", "loadtest/ReceiptForge/PKI/TestNames.swift",
    ]
}
