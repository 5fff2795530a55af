// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// A type that settings can have: how it is written, and what is accepted.
package protocol ConfigurationValue: Equatable, Sendable {
    /// What is accepted, for messages and the documentation: `a number of bytes such as 12MiB`.
    static var accepted: String { get }
    /// Whether it must not be shown whole, and may come from a file of its own.
    static var isSecret: Bool { get }
    /// The value a text stands for.
    init(configuration text: String) throws(ConfigurationValueFault)
    /// The text that stands for the value; never a secret.
    var configurationText: String { get }
}

extension ConfigurationValue {
    package static var isSecret: Bool { false }
}

/// What is wrong with a value, in words that follow the name of its key. Holds no secret.
package struct ConfigurationValueFault: Error, Hashable, Sendable {
    /// Such as `"80x" is not a number`.
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

/// A value that is one of a few words.
extension ConfigurationValue where Self: CaseIterable & RawRepresentable<String> {
    package static var accepted: String { allCases.map(\.rawValue).joined(separator: ", ") }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Self(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is none of them")
        }
        self = value
    }

    package var configurationText: String { rawValue }
}

extension Logger.Level: ConfigurationValue {
    init(configuration text: String) throws(ConfigurationValueFault) {
        guard let level = Logger.Level(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is no log level")
        }
        self = level
    }
}
