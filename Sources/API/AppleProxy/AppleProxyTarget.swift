// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON

/// The part of a proxy path after `/v1/apple/`: `{bundle_id}/{environment}/inApps/…`. Nothing is decoded.
struct AppleProxyTarget: Hashable, Sendable {
    let bundleID: String
    let environment: UpstreamEnvironment
    /// The path at Apple, `/inApps/…`, as it was sent.
    let path: String

    /// - Returns: nil for any other path.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 3, parts[0].isBundleID, let environment = UpstreamEnvironment(rawValue: parts[1]),
            parts[2].hasPrefix("inApps/")
        else { return nil }
        bundleID = parts[0]
        self.environment = environment
        path = "/" + parts[2]
    }
}

extension String {
    /// The maximum characters of a bundle ID (App Store Connect).
    private static let maximumBundleIDBytes = 155

    /// True for the form of a bundle ID, which becomes a claim of the token for Apple, and stands in log lines.
    var isBundleID: Bool {
        (1...Self.maximumBundleIDBytes).contains(utf8.count) && utf8.first != UInt8(ascii: ".")
            && utf8.allSatisfy(ASCII.isSafe)
    }
}
