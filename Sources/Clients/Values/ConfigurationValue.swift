// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts

/// A type that settings can have.
package protocol ConfigurationValue: Equatable, Sendable {
    /// The accepted values, for messages and the documentation: `a number of bytes such as 12MiB`.
    static var accepted: String { get }
    /// True if the value must not be shown, and may come from its own file.
    static var isSecret: Bool { get }
    init(configuration text: String) throws(ConfigurationValueFault)
    /// The value as text; never a secret.
    var configurationText: String { get }
}

extension ConfigurationValue {
    package static var isSecret: Bool { false }
}

/// The fault of a value, in words that follow the name of its key. Contains no secret.
package struct ConfigurationValueFault: Error, Hashable, Sendable {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// A value in Swift's own form.
package protocol PlainConfigurationValue: ConfigurationValue, LosslessStringConvertible {}

extension PlainConfigurationValue {
    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Self(text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not \(Self.accepted)")
        }
        self = value
    }

    package var configurationText: String { description }
}

extension Int: PlainConfigurationValue {
    package static var accepted: String { "an integer" }
}

extension Double: PlainConfigurationValue {
    package static var accepted: String { "a number" }
}

extension String: PlainConfigurationValue {
    package static var accepted: String { "a text" }
}

extension Bool: PlainConfigurationValue {
    package static var accepted: String { "true or false" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        switch text {
        case "true": self = true
        case "false": self = false
        default: throw ConfigurationValueFault(description: "\"\(text)\" is neither true nor false")
        }
    }
}

extension Optional: ConfigurationValue where Wrapped: ConfigurationValue {
    package static var isSecret: Bool { Wrapped.isSecret }
    package static var accepted: String { Wrapped.accepted }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self = .some(try Wrapped(configuration: text))
    }

    package var configurationText: String { self?.configurationText ?? "" }
}

// A list, separated by commas.
extension Array: ConfigurationValue where Element: ConfigurationValue {
    package static var accepted: String { Element.accepted }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self = []
        for part in text.split(separator: ",") { append(try Element(configuration: part.trimmingWhiteSpace())) }
    }

    package var configurationText: String { map(\.configurationText).joined(separator: ",") }
}

extension Substring {
    package func trimmingWhiteSpace() -> String {
        var text = drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

// A value that is one of a few words.
extension ConfigurationValue where Self: CaseIterable & RawRepresentable<String> {
    package static var accepted: String { allCases.map(\.rawValue).joined(separator: ", ") }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Self(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not accepted")
        }
        self = value
    }

    package var configurationText: String { rawValue }
}

extension Secret: ConfigurationValue {
    /// Enough for 128 bits in any common encoding.
    static let minimumBytes = 16

    package static var isSecret: Bool { true }
    package static var accepted: String { "at least \(minimumBytes) random characters, from the environment or a file" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        if text.isPlaceholder { throw ConfigurationValueFault(description: String.placeholderFault) }
        guard text.utf8.count >= Self.minimumBytes else {
            throw ConfigurationValueFault(description: "the secret is too short")
        }
        self.init(text)
    }

    package var configurationText: String { Self.redacted }
}

extension String {
    package static let placeholderFault = "is a placeholder as documentation prints it, and no secret"

    /// True for what documentation prints in place of a secret: `YOUR_SHARED_SECRET`, `your-password`, `<secret>`,
    /// `changeme`.
    package var isPlaceholder: Bool {
        let words = lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }
        let isMarked = lowercased().wholeMatch(of: /your[_ -].*/) != nil || hasPrefix("<") && hasSuffix(">")
        return isMarked || ["changeme", "replaceme", "placeholder"].contains(words)
    }
}

// Durations are written with their unit: `500ms`, `15s`, `5m`, `24h`, `7d`.
extension Duration: ConfigurationValue {
    package static var accepted: String { "a duration such as 500ms, 15s, 5m, 24h or 7d" }

    /// The units with their milliseconds, largest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    package init(configuration text: String) throws(ConfigurationValueFault) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let count = Int64(digits), let unit = Self.units.first(where: { $0.name == name }) else {
            let isBare = !text.isEmpty && name.isEmpty
            throw ConfigurationValueFault(
                description: "\"\(text)\" is not a duration" + (isBare ? ": its unit is missing" : ""))
        }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        if overflow { throw ConfigurationValueFault(description: "\"\(text)\" is too long") }
        self = .milliseconds(milliseconds)
    }

    package var configurationText: String {
        let milliseconds = wholeMilliseconds
        let unit = Self.units.first { milliseconds > 0 && milliseconds.isMultiple(of: $0.milliseconds) }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.name)" } ?? "0s"
    }
}

/// A size in bytes, written `12MiB`, `8KiB`, `1GiB` or as a plain number.
package struct ByteCount: Hashable, Comparable, Sendable {
    package var bytes: Int

    package static func bytes(_ count: Int) -> ByteCount { ByteCount(bytes: count) }
    package static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }
    package static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }

    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}

extension ByteCount: ConfigurationValue {
    package static var accepted: String { "a size such as 512KiB, 12MiB or 1GiB, or a number of bytes" }

    /// The units with their powers of two, largest first.
    private static let units = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)]

    package init(configuration text: String) throws(ConfigurationValueFault) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let count = Int(digits), let shift = Self.units.first(where: { $0.0 == unit })?.1,
            count <= Int.max >> shift
        else { throw ConfigurationValueFault(description: "\"\(text)\" is not a size") }
        self.init(bytes: count << shift)
    }

    package var configurationText: String {
        let unit = Self.units.first { bytes.isMultiple(of: 1 << $0.1) && bytes > 0 && $0.1 > 0 }
        return unit.map { "\(bytes >> $0.1)\($0.0)" } ?? String(bytes)
    }
}

extension UInt8 {
    /// True for letters, digits, `-` and `_`.
    package var isBase64URL: Bool { ASCII.isSafe(self) && self != UInt8(ascii: ".") }
}
