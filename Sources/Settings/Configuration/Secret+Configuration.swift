// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Secrets

extension Secret: ConfigurationValue {
    /// Enough for 128 bits in any common encoding.
    static let minimumBytes = 16

    package static var isSecret: Bool { true }
    package static var accepted: String { "at least \(minimumBytes) random characters, from the environment or a file" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard text.utf8.count >= Self.minimumBytes else {
            throw ConfigurationValueFault(description: "the secret is too short")
        }
        self.init(text)
    }

    package var configurationText: String { Self.redacted }
}
