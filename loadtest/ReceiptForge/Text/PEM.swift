// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The textual form of certificates and keys (RFC 7468).
enum PEM {
    static func text(_ bytes: [UInt8], label: String) -> String {
        let lines = Base64.lines(Base64.text(bytes), width: 64)
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }
}
