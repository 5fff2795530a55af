// SPDX-License-Identifier: Apache-2.0

import Testing

/// The limits of what a role must read: a feature that adds a page to a path shortens others.
struct ReadingPathsTests {
    private static let limits = [
        "a developer who verifies purchases": 8000, "a developer of webhooks": 9000, "an SRE": 15_000,
    ]

    @Test func `docs/README.md has a reading path for each role, with its limit`() throws {
        let paths = try ReadingPath.all()
        #expect(Set(paths.map(\.role)) == Set(Self.limits.keys) && paths.count == Self.limits.count)
        for path in paths { #expect(path.limit == Self.limits[path.role] && path.pages.count > 3, "\(path.role)") }
    }

    @Test func `a reading path has no more words than its limit`() throws {
        for path in try ReadingPath.all() {
            let counts = try path.pages.map { ProseWords.count(in: try Repository.text("docs/\($0)")) }
            let total = counts.reduce(0, +)
            let list = zip(path.pages, counts).map { "\($0) \($1)" }.joined(separator: ", ")
            #expect(total <= Self.limits[path.role, default: 0], "\(path.role): \(total) words: \(list)")
        }
    }

    @Test func `no page is on the paths of two roles`() throws {
        let pages = try ReadingPath.all().flatMap(\.pages)
        #expect(Set(pages).count == pages.count)
    }

    @Test func `words are counted in prose and tables, without code and comments`() {
        let page = """
            # A title

            Two words, and `one.setting` – [a link](page.md#anchor).
            <!-- not run: a comment -->
            ```sh
            some code here
            ```
            | a | table |
            |---|---:|
            - a list:
              ```json
              {"a": 1}
              ```
            """
        #expect(ProseWords.count(in: page) == 2 + 6 + 2 + 2)
    }
}

/// The pages that a role reads, from the first table of docs/README.md. The contributors' path has no limit.
struct ReadingPath {
    let role: String
    /// Paths below docs.
    let pages: [String]
    let limit: Int

    static func all() throws -> [ReadingPath] {
        try Repository.text("docs/README.md").matches(of: /(?m)^\| (.+?) \| (.+) \| ([0-9,]+) \|$/).map { row in
            let pages = row.output.2.matches(of: /\]\(([^)]+)\)/).map { String($0.output.1) }
            let limit = Int(row.output.3.filter(\.isNumber)) ?? 0
            return ReadingPath(role: String(row.output.1), pages: pages, limit: limit)
        }
    }
}

/// A counter of the words of a page that a reader reads: prose and tables.
enum ProseWords {
    static func count(in page: String) -> Int {
        var isCode = false, number = 0
        for line in page.split(separator: "\n") {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("```") {
                isCode.toggle()
            } else if !isCode, !text.hasPrefix("<!--") {
                number += text.split(separator: " ").count { $0.contains { $0.isLetter || $0.isNumber } }
            }
        }
        return number
    }
}
