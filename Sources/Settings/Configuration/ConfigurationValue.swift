// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// A type that settings can have.
package protocol ConfigurationValue: Equatable, Sendable {
    /// The accepted values, for messages and the documentation: `a number of bytes such as 12MiB`.
    static var accepted: String { get }
    /// True if the value must not be shown, and may come from its own file.
    static var isSecret: Bool { get }
    /// Parses a value.
    init(configuration text: String) throws(ConfigurationValueFault)
    /// The value as text; never a secret.
    var configurationText: String { get }
}

extension ConfigurationValue {
    package static var isSecret: Bool { false }
}

/// The fault of a value, in words that follow the name of its key. Contains no secret.
package struct ConfigurationValueFault: Error, Hashable, Sendable {
    let description: String
}

extension Int: ConfigurationValue {
    package static var accepted: String { "an integer" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Int(text) else { throw ConfigurationValueFault(description: "\"\(text)\" is not an integer") }
        self = value
    }

    package var configurationText: String { String(self) }
}

extension Bool: ConfigurationValue {
    package static var accepted: String { "true or false" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        switch text {
        case "true": self = true
        case "false": self = false
        default: throw ConfigurationValueFault(description: "\"\(text)\" is neither true nor false")
        }
    }

    package var configurationText: String { String(self) }
}

extension String: ConfigurationValue {
    package static var accepted: String { "a text" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self = text
    }

    package var configurationText: String { self }
}

extension Optional: ConfigurationValue where Wrapped: ConfigurationValue {
    package static var isSecret: Bool { Wrapped.isSecret }
    package static var accepted: String { Wrapped.accepted }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self = .some(try Wrapped(configuration: text))
    }

    package var configurationText: String { self?.configurationText ?? "" }
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

extension Logger.Level: ConfigurationValue {
    init(configuration text: String) throws(ConfigurationValueFault) {
        guard let level = Logger.Level(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a log level")
        }
        self = level
    }
}
