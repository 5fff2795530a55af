// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The preferences of a client for a deferred answer, from the header field `Prefer`.
///
/// RFC 7240 §2:
/// ```
/// Prefer     = "Prefer" ":" 1#preference
/// preference = token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )
/// parameter  = token [ BWS "=" BWS word ]
/// ```
/// Preferences that are unknown or malformed are ignored, as are parameters.
struct Preference: Hashable, Sendable {
    enum Limits {
        /// The preferences that are read.
        static let preferences = 32
        /// The longest wait, in seconds; a longer wait is shortened.
        static let wait = 60
    }

    /// `respond-async` (§4.1): the client accepts 202.
    private(set) var respondsAsync = false
    /// `wait` (§4.3): the time that the client waits for an answer.
    private(set) var wait: Duration?

    /// - Parameter fields: the values of all lines, in order.
    init(_ fields: [String]) {
        let preferences = fields.flatMap { $0[...].parts(between: ",") }.prefix(Limits.preferences)
        var seen: Set<String> = []
        for preference in preferences {
            let pair = preference.parts(between: ";").first?.parts(between: "=") ?? []
            let name = (pair.first ?? "").withoutWhiteSpace.lowercased()
            // §2: only the first instance of a preference counts.
            guard pair.count <= 2, seen.insert(name).inserted else { continue }
            apply(name, pair.count == 2 ? pair[1].word : "")
        }
    }

    /// - Parameter value: empty for a preference without a value, which is equivalent (§2); nil for a malformed value.
    private mutating func apply(_ name: String, _ value: String?) {
        switch (name, value) {
        case ("respond-async", ""?): respondsAsync = true
        case ("wait", let text?):
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
            wait = .seconds(Int(text).map { min($0, Limits.wait) } ?? Limits.wait)
        default: break
        }
    }
}

extension Substring {
    /// Returns the parts between separators outside quoted strings (RFC 9110 §5.6.4).
    fileprivate func parts(between separator: Character) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        return split(omittingEmptySubsequences: false) { character in
            defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }

    fileprivate var withoutWhiteSpace: Substring {
        let isWhiteSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = drop(while: isWhiteSpace)
        while let last = text.last, isWhiteSpace(last) { text.removeLast() }
        return text
    }

    /// The value of a token or a quoted string; nil for a quoted string without its end.
    fileprivate var word: String? {
        let text = withoutWhiteSpace
        guard text.first == "\"" else { return String(text) }
        guard text.count >= 2, text.last == "\"" else { return nil }
        return String(text.dropFirst().dropLast()).replacing("\\", with: "")
    }
}
