// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension GatewayConfiguration {
    /// All settings with their values, as YAML with full names and redacted secrets.
    package var effectiveText: String {
        ConfigurationKeys.all.map { key in
            let isDefault = key.text(self) == key.defaultText
            return "\(key.fileName): \(key.text(self))\(isDefault ? "  # default" : "")\n"
        }.joined()
    }
}
