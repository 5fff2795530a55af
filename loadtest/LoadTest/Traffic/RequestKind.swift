// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What kind of receipt a request carries; the raw values are those of `--mix`.
enum RequestKind: String, CaseIterable, Sendable {
    /// One of the receipts that are sent again and again.
    case repeated = "repeat"
    /// Genuine, and never sent before.
    case fresh
    /// No receipt at all: bytes of it are damaged where the encoding shows it.
    case malformed
    /// Well formed, with a signature that does not fit. Each is another one.
    case forged
    /// Genuine, with a subscription that ends while the run goes on.
    case nearExpiry = "near-expiry"
}
