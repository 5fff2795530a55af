// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The secrets that apps share with Apple: one for each app that has its own, and the account's primary one for all
/// others (App Store Connect, "Generate a shared secret to verify receipts").
struct SharedSecrets: Hashable, Sendable {
    /// The account's; nil if there is none.
    var primary: Secret?
    /// By bundle ID.
    var ofApps: [String: Secret] = [:]

    /// The secret to ask about this app with.
    func secret(forApp bundleID: String) -> Secret? { ofApps[bundleID] ?? primary }
}
