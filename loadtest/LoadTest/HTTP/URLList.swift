// SPDX-License-Identifier: Apache-2.0

/// The URLs of `--urls`: one a line, all of one server. Empty lines, and lines that begin with `#`, are skipped.
struct URLList: Hashable, Sendable {
    /// At least one.
    let targets: [LoadTarget]

    static let maximumBytes = 64 << 20
    static let maximumURLs = 1_000_000

    init(_ bytes: [UInt8]) throws(URLListFault) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw URLListFault(line: nil, rule: .notText) }
        var targets: [LoadTarget] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do throws(URLListFault.Rule) {
                try targets.append(Self.target(words.joined(separator: " "), after: targets))
            } catch {
                throw URLListFault(line: index + 1, rule: error)
            }
        }
        guard !targets.isEmpty else { throw URLListFault(line: nil, rule: .empty) }
        self.targets = targets
    }

    private static func target(_ text: String, after others: [LoadTarget]) throws(URLListFault.Rule) -> LoadTarget {
        let target: LoadTarget
        do throws(LoadTargetError) { target = try LoadTarget(text) } catch { throw .url(error) }
        if let first = others.first, !target.isSameServer(as: first) {
            throw .otherServer(target.origin, first.origin)
        }
        guard others.count < maximumURLs else { throw .tooMany }
        return target
    }
}

extension LoadTarget {
    fileprivate func isSameServer(as other: LoadTarget) -> Bool {
        isSecure == other.isSecure && host.lowercased() == other.host.lowercased() && port == other.port
    }
}

struct URLListFault: Error, Hashable, CustomStringConvertible {
    /// Counted from 1; nil for the whole.
    let line: Int?
    let rule: Rule

    enum Rule: Error, Hashable, Sendable {
        case notText, empty, tooMany
        case url(LoadTargetError)
        case otherServer(String, String)
    }

    var description: String { (line.map { "line \($0): " } ?? "") + reason }

    private var reason: String {
        switch rule {
        case .notText: "this is no text in UTF-8."
        case .empty: "it has no URL."
        case .tooMany: "it has more than \(URLList.maximumURLs.grouped) URLs."
        case .url(let error): "\(error)"
        case .otherServer(let other, let first): "\(other) is another server than \(first); a run loads one server."
        }
    }
}
