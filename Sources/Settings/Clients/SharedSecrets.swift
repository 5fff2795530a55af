// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Secrets

/// The apps' shared secrets: one for each app with its own, and the account's primary one for the others (App Store
/// Connect, "Generate a shared secret to verify receipts").
package struct SharedSecrets: Hashable, Sendable {
    /// The account's secret; nil if there is none.
    package var primary: Secret?
    /// By bundle ID.
    var ofApps: [String: Secret] = [:]

    /// Returns the app's secret, or the account's if the app has none.
    package func secret(forApp bundleID: String?) -> Secret? { bundleID.flatMap { ofApps[$0] } ?? primary }
}
