// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

extension Int {
    /// With a comma between thousands: `5,004,203`.
    var grouped: String {
        guard magnitude >= 1000 else { return String(self) }
        return (self / 1000).grouped + "," + String(magnitude % 1000 + 1000).dropFirst()
    }

    /// `12.3 MB`, of a million bytes each.
    var bytesText: String {
        for (size, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] where Double(self) >= size {
            return (Double(self) / size).significant + " " + unit
        }
        return "\(self) bytes"
    }
}

extension Double {
    /// Returns the number with so many decimals, rounded half away from zero: `0.85`.
    func fixed(_ decimals: Int) -> String { magnitude < 1e12 ? text(decimals) { String($0) } : scientific }

    /// Returns the number with commas between thousands: `12,345.67`.
    func grouped(_ decimals: Int) -> String { magnitude < 1e12 ? text(decimals, \.grouped) : scientific }

    private func text(_ decimals: Int, _ whole: (Int) -> String) -> String {
        let unit = Int(pow(10, Double(decimals)))
        let scaled = Int((magnitude * Double(unit)).rounded())
        let sign = self < 0 && scaled > 0 ? "-" : ""
        return sign + whole(scaled / unit) + (decimals > 0 ? "." + String(scaled % unit + unit).dropFirst() : "")
    }

    func rounded(toDecimals decimals: Int) -> Double {
        let unit = pow(10, Double(decimals))
        return (self * unit).rounded() / unit
    }

    /// Three significant digits, none after thousands: `0.0123`, `1.23`, `123`, `12,345`.
    var significant: String {
        guard magnitude > 0, isFinite else { return isFinite ? "0" : "–" }
        guard magnitude >= 1e-6 else { return scientific }
        return grouped(max(0, min(8, 2 - Int(floor(log10(magnitude))))))
    }

    /// As a person writes it: `60`, `2.5`.
    var plain: String { magnitude >= 1e-6 ? grouped(6).withoutTrailingZeros : significant }

    private var scientific: String {
        guard isFinite, magnitude >= .leastNormalMagnitude else { return "0" }
        let exponent = Int(floor(log10(magnitude)))
        return (self / pow(10, Double(exponent))).fixed(1) + "e\(exponent)"
    }

}

extension Duration {
    var seconds: Double { self / .seconds(1) }
    var milliseconds: Double { self / .milliseconds(1) }
}

extension String {
    fileprivate var withoutTrailingZeros: String {
        guard contains(".") else { return self }
        var text = self[...]
        while text.hasSuffix("0") { text.removeLast() }
        return String(text.hasSuffix(".") ? text.dropLast() : text)
    }

    /// The text without characters that control a terminal or change the direction of text, but for line breaks.
    var printable: String {
        let scalars = unicodeScalars.map { scalar -> Unicode.Scalar in
            let isControl = scalar.properties.generalCategory == .control && scalar != "\n"
            return isControl || scalar.properties.isBidiControl ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Replaces each place such as `{{name}}` by its value. A place without a value stays.
    func filled(_ values: [String: String]) -> String {
        replacing(/{{([a-z-]+)}}/) { values[String($0.output.1)] ?? String($0.output.0) }
    }

    /// Replaces a scalar, also one that is part of a character: browsers and shells see U+0600 and `<` as two.
    func replacingScalar(_ scalar: Unicode.Scalar, with text: String) -> String {
        String(String.UnicodeScalarView(unicodeScalars.replacing([scalar], with: text.unicodeScalars)))
    }

    /// The text as a word of a POSIX shell, quoted only where it must be (POSIX.1-2017, Shell Command Language §2.2.2).
    var shellWord: String {
        if !isEmpty, wholeMatch(of: /[A-Za-z0-9\/._\-+@%]+/) != nil { return self }
        // Nothing is special between single quotes but the quote itself, which is taken out and put in with a
        // backslash.
        return "'" + replacingScalar("'", with: #"'\''"#) + "'"
    }
}

/// JSON with the names of properties in snake case.
enum JSONOutput {
    /// Returns indented JSON with keys in alphabetical order, so that two runs can be compared line by line.
    static func of(_ value: some Encodable) throws -> String { try text(of: value, .prettyPrinted) }

    /// Returns one line of JSON with keys in alphabetical order.
    static func compact(_ value: some Encodable) throws -> String { try text(of: value, []) }

    private static func text(of value: some Encodable, _ layout: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = layout.union([.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Reads what was written before; members without a property are passed over.
    static func read<Value: Decodable>(_ text: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { PropertyName(member: $0[$0.count - 1].stringValue) }
        return try decoder.decode(Value.self, from: Data(text))
    }
}

private struct PropertyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    /// `p99_9_ms` is `p99_9Ms`: only letters have another case.
    init(member: String) {
        let words = member.split(separator: "_", omittingEmptySubsequences: false)
        stringValue = words.dropFirst().reduce(into: String(words[0])) { name, word in
            name += word.first?.isNumber == true ? "_" + word : word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// A figure that is written as `null` where there is none, so that a reader finds every name.
@propertyWrapper struct NullIfAbsent: Codable, Hashable, Sendable {
    var wrappedValue: Double?

    init(wrappedValue: Double?) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Double?.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    func decode(_ type: NullIfAbsent.Type, forKey key: Key) throws -> NullIfAbsent {
        try decodeIfPresent(type, forKey: key) ?? NullIfAbsent(wrappedValue: nil)
    }
}

struct AlignedTable {
    let header: [String]
    let rows: [[String]]

    /// The rows as lines, without a line break at the end.
    var text: String {
        precondition(rows.allSatisfy { $0.count == header.count }, "a row has a cell for each column")
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of row: [String], _ widths: [Int]) -> String {
        zip(row, widths).map { cell, width in String(repeating: " ", count: width - cell.count) + cell }
            .joined(separator: "  ")
    }
}
