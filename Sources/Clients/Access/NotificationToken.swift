// SPDX-License-Identifier: Apache-2.0

internal import Cryptography

/// The secret last segment of the path that Apple posts notifications to.
package struct NotificationToken: Hashable, Sendable, ConfigurationValue {
    private let secret: Secret

    /// Returns true for the token itself, compared in constant time.
    package func matches(_ segment: String) -> Bool { secret.matches(Secret(segment)) }

    /// At least 96 random bits.
    private static let lengths = 16...128

    package static var isSecret: Bool { true }
    package static var accepted: String {
        "\(lengths.lowerBound) to \(lengths.upperBound) letters, digits, _ and -, from the environment or a file"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard Self.lengths.contains(text.utf8.count) else {
            throw ConfigurationValueFault(description: "the token is too short or too long")
        }
        guard text.utf8.allSatisfy(\.isBase64URL) else {
            throw ConfigurationValueFault(description: "the token has other characters")
        }
        secret = Secret(text)
    }

    package var configurationText: String { Secret.redacted }
}
