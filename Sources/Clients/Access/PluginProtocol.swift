// SPDX-License-Identifier: Apache-2.0

/// A protocol by which purchase plugins in apps call their validation server. The raw values appear in the clients file.
package enum PluginProtocol: String, CaseIterable, Hashable, Sendable {
    /// cordova-plugin-purchase and the SDKs of its hosted validator: `POST /v1/validate`.
    case cordova = "cordova-plugin-purchase"
    /// OpenIAP, as react-native-iap and expo-iap use it: `POST /v1/purchase/verify`.
    case openIAP = "openiap"

    package var path: String {
        switch self {
        case .cordova: "/v1/validate"
        case .openIAP: "/v1/purchase/verify"
        }
    }
}
