// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// A type that settings can have: how it is written, and what is accepted.
protocol ConfigurationValue: Equatable, Sendable {
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
    static var isSecret: Bool { false }
}

/// What is wrong with a value, in words that follow the name of its key. Holds no secret.
struct ConfigurationValueFault: Error, Hashable, Sendable {
    /// Such as `"80x" is not a number`.
    let description: String
}

extension Int: ConfigurationValue {
    static var accepted: String { "an integer" }

    init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Int(text) else { throw ConfigurationValueFault(description: "\"\(text)\" is not an integer") }
        self = value
    }

    var configurationText: String { String(self) }
}

extension Bool: ConfigurationValue {
    static var accepted: String { "true or false" }

    init(configuration text: String) throws(ConfigurationValueFault) {
        switch text {
        case "true": self = true
        case "false": self = false
        default: throw ConfigurationValueFault(description: "\"\(text)\" is neither true nor false")
        }
    }

    var configurationText: String { String(self) }
}

extension String: ConfigurationValue {
    static var accepted: String { "a text" }

    init(configuration text: String) throws(ConfigurationValueFault) {
        self = text
    }

    var configurationText: String { self }
}

extension Optional: ConfigurationValue where Wrapped: ConfigurationValue {
    static var isSecret: Bool { Wrapped.isSecret }
    static var accepted: String { Wrapped.accepted }

    init(configuration text: String) throws(ConfigurationValueFault) {
        self = .some(try Wrapped(configuration: text))
    }

    var configurationText: String { self?.configurationText ?? "" }
}

/// A value that is one of a few words.
extension ConfigurationValue where Self: CaseIterable & RawRepresentable<String> {
    static var accepted: String { allCases.map(\.rawValue).joined(separator: ", ") }

    init(configuration text: String) throws(ConfigurationValueFault) {
        guard let value = Self(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is none of them")
        }
        self = value
    }

    var configurationText: String { rawValue }
}

extension Logger.Level: ConfigurationValue {
    init(configuration text: String) throws(ConfigurationValueFault) {
        guard let level = Logger.Level(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is no log level")
        }
        self = level
    }
}
