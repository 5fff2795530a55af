// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The language of code and documents: the field's terms, and actors with names.
struct PlainWordsTests {
    private static let code = ["Sources", "Tests", "docs/clients", "loadtest"]
    private static let pages = ["docs", "helm", "loadtest"]

    @Test func `documentation summaries are noun phrases or verbs in the third person`() throws {
        for file in try Repository.swiftFiles(in: Self.code) {
            let lines = [""] + file.lines.map { $0.drop { $0 == " " } }
            for (number, (above, line)) in zip(lines, lines.dropFirst()).enumerated() where !above.hasPrefix("///") {
                let isClause = Self.clauses.contains { line.hasPrefix($0) }
                #expect(!isClause, "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    private static let clauses = ["What", "Who", "Whoever", "How", "Where", "When", "Why", "Whether", "Nobody"].map {
        "/// \($0) "
    }

    @Test func `actors are named, and bytes are bytes`() throws {
        let pages = try Repository.files(in: Self.pages, named: /.*\.(md|yaml|tpl)/)
        let files = try Repository.swiftFiles(in: Self.code) + pages
        #expect(files.count > 500)
        for file in files where !Self.quotes.contains(file.path) && Self.isUnplain(file.text) {
            for (number, line) in file.lines.enumerated() {
                #expect(!Self.isUnplain(String(line)), "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    /// The ASN.1 type and the media type keep their names.
    private static func isUnplain(_ text: String) -> Bool {
        let lower = text.lowercased()
        let standard = ["octet string", "octet-string", "octet_string", "octetstring", "octet-stream"]
        // Few files have the word at all: `replacing` is slow in a debug build.
        return ["nobody", "somebody", "whoever"].contains { lower.contains($0) }
            || lower.contains("octet") && standard.reduce(lower) { $0.replacing($1, with: "") }.contains("octet")
    }

    /// A reader should not have to look for the noun that a pronoun stands for. A few are idioms, or end a line before
    /// their noun.
    @Test func `comments and documents repeat the noun`() throws {
        let pronoun = /\b(that|those) of\b|\bof which\b|\bthe others\b|\bone of them\b|\bthe same([.,;:]|$)/
        let comments = try Repository.swiftFiles(in: ["Sources", "loadtest"]).flatMap { file in
            file.lines.filter { $0.drop { $0 == " " }.hasPrefix("//") }.map { "\(file.path): \($0.lowercased())" }
        }
        let pages = try Repository.files(in: ["docs"], named: /.*\.md/).filter { !$0.path.contains("/decisions/") }
        let texts = comments + pages.flatMap { page in page.lines.map { "\(page.path): \($0.lowercased())" } }
        #expect(comments.count > 10_000 && texts.count > 20_000)
        let found = texts.filter { $0.contains(pronoun) }
        #expect(found.count <= texts.count / 500, "\(found.joined(separator: "\n"))")
    }

    /// A reader who searches for a name finds one type.
    @Test func `no two top-level types of the product and the load tester share a name`() throws {
        var paths: [Substring: String] = [:]
        let declaration = /(?m)^(?:[a-z@]+ )*(?:struct|class|enum|actor|protocol) (\w+)/
        for file in try Repository.swiftFiles(in: ["Sources", "loadtest"]) {
            for match in file.text.matches(of: declaration) where !match.output.0.contains("private ") {
                let other = paths.updateValue(file.path, forKey: match.output.1)
                #expect(other == nil, "\(match.output.1) stands in \(file.path) and \(other ?? "")")
            }
        }
        #expect(paths.count > 1000)
    }

    /// Files that quote old names, a text that other files hash, or a user of the system.
    private static let quotes: Set<String> = [
        "Tests/HouseRulesTests/PlainWordsTests.swift", "loadtest/LoadTest/Bench/BenchServer.swift",
        "loadtest/ReceiptForge/PKI/TestNames.swift",
    ]
}
