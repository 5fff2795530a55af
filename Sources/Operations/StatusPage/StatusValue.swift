// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import JSON
package import Receipts

package enum StatusValue: Hashable, Sendable {
    /// A word of the API, and its text on the page.
    case word(String, shown: String)
    /// No value: null for programs.
    case none(shown: String = "–")
    case count(Int)
    case part(Int, of: Int)
    case number(Double?)
    case rate(Double?)
    case share(Double?)
    case latency(Double?)
    case span(Duration?)
    case bytes(Int?)
    case time(Timestamp?)
    /// Names of the operator's. People see the first few.
    case names([String])

    enum Limits {
        /// The names in `/status.json`, as in the metrics.
        static let names = 1000
    }

    static func word(_ word: String) -> StatusValue { .word(word, shown: word.replacing("_", with: " ")) }

    // MARK: - For people

    static let nothing = "–"

    package var text: String {
        switch self {
        case .word(_, let shown), .none(let shown): shown
        case .count(let count): count.grouped
        case .part(let part, let whole): "\(part.grouped) of \(whole.grouped)"
        case .number(let number): number?.text(digits: 2) ?? Self.nothing
        case .rate(let rate): rate.map { $0.rateText + "/s" } ?? Self.nothing
        case .share(let share): share.map { ($0 * 100).text(digits: $0 < 0.1 && $0 > 0 ? 1 : 0) + " %" } ?? Self.nothing
        case .latency(let seconds): seconds?.latencyText ?? Self.nothing
        case .span(let span): span?.spanText ?? Self.nothing
        case .bytes(let bytes): bytes.map(Self.bytesText) ?? Self.nothing
        case .time(let time): time?.clockText ?? Self.nothing
        case .names(let names): names.isEmpty ? "none" : names.listed
        }
    }

    private static func bytesText(_ bytes: Int) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var (size, unit) = (Double(bytes), 0)
        while size >= 1024, unit + 1 < units.count { (size, unit) = (size / 1024, unit + 1) }
        return "\(size.text(digits: unit > 0 && size < 10 ? 1 : 0)) \(units[unit])"
    }
}

extension Int {
    /// The number with a narrow space between groups of three digits, from five digits on.
    fileprivate var grouped: String {
        magnitude < 10_000 ? String(self) : String(self).replacing(/\B(?=(?:\d{3})+$)/, with: "\u{202F}")
    }
}

extension Double {
    fileprivate func text(digits: Int) -> String {
        guard isFinite, magnitude < 1e15 else { return StatusValue.nothing }
        let unit = digits == 0 ? 1 : digits == 1 ? 10 : 100
        let scaled = Int((self * Double(unit)).rounded())
        guard unit > 1 else { return scaled.grouped }
        let rest = String(scaled.magnitude % UInt(unit) + UInt(unit)).dropFirst()
        return "\((scaled / unit).grouped).\(rest)"
    }

    fileprivate var rateText: String {
        if self == 0 { return "0" }
        if self > 0, self < 0.05 { return "<0.1" }
        return text(digits: self < 99.95 ? 1 : 0)
    }

    fileprivate var latencyText: String {
        if self < 0.00995 { return (self * 1000).text(digits: 2) + " ms" }
        if self < 0.9995 { return (self * 1000).text(digits: self < 0.09995 ? 1 : 0) + " ms" }
        return text(digits: 2) + " s"
    }
}

extension Duration {
    /// The two largest units: `3 d 4 h`.
    fileprivate var spanText: String {
        let seconds = Int(components.seconds)
        let units = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        let shown = units.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }
        return shown.isEmpty ? "0 s" : shown.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

extension Timestamp {
    /// `2026-11-21 18:39:47 UTC`; the day alone at midnight, as announced dates are.
    var clockText: String {
        let whole = Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000).description
        let text = whole.dropLast().replacing("T", with: " ")
        return text.hasSuffix(" 00:00:00") ? String(text.prefix(10)) : text + " UTC"
    }
}

// MARK: - For programs

extension JSONWriter {
    /// Writes a value for programs: times in RFC 3339, spans in seconds; null for unknown values.
    mutating func value(_ value: StatusValue) {
        switch value {
        case .word(let word, _): string(word)
        case .none: null()
        case .count(let count): integer(count)
        case .part(let part, let whole):
            object { json in
                json.member("now", part)
                json.member("most", whole)
            }
        case .number(let number), .rate(let number), .share(let number), .latency(let number):
            optional(number) { $0.number($1) }
        case .span(let span): optional(span) { $0.integer($1.components.seconds) }
        case .bytes(let bytes): optional(bytes) { $0.integer($1) }
        case .time(let time): optional(time) { $0.string($1.description) }
        case .names(let names):
            array { json in for name in names.prefix(StatusValue.Limits.names) { json.string(name) } }
        }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout JSONWriter, Value) -> Void) {
        if let value { write(&self, value) } else { null() }
    }
}
