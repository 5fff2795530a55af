// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Secrets

/// The secrets that apps share with Apple: one for each app that has its own, and the account's primary one for all
/// others (App Store Connect, "Generate a shared secret to verify receipts").
package struct SharedSecrets: Hashable, Sendable {
    /// The account's; nil if there is none.
    package var primary: Secret?
    /// By bundle ID.
    var ofApps: [String: Secret] = [:]

    /// Returns the secret to ask about an app with; that of the account for an app that is not known.
    package func secret(forApp bundleID: String?) -> Secret? { bundleID.flatMap { ofApps[$0] } ?? primary }
}
