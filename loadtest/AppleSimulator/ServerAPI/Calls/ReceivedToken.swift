// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOHTTP1
package import ReceiptForge
internal import Receipts

/// A key of the App Store Server API that the simulator accepts.
package struct AcceptedKey: Sendable {
    package let key: ForgedAPIKey
    /// The apps it may be used for; nil for any app.
    package var bundleIDs: Set<String>?

    package init(_ key: ForgedAPIKey, bundleIDs: Set<String>? = nil) {
        self.key = key
        self.bundleIDs = bundleIDs
    }
}

/// A bearer token that was checked (RFC 7519, "Generating JSON Web Tokens for API requests").
struct ReceivedToken: Hashable, Sendable {
    /// The app of the call.
    let bundleID: String

    /// Checks a token: ES256 by a known key, its issuer, the audience, an app of the key, and at most an hour of life.
    ///
    /// - Returns: nil for a token that Apple rejects. Apple does not say why.
    init?(_ headers: HTTPHeaders, keys: [String: AcceptedKey], maximumBytes: Int, now: Timestamp) {
        guard let text = Self.text(headers, maximumBytes: maximumBytes) else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            header["alg"]?.string == "ES256", let key = header["kid"]?.string.flatMap({ keys[$0] }),
            let signature = Base64URLDecoder.decode(parts[2].utf8.span),
            key.key.isValid(signature, over: Array("\(parts[0]).\(parts[1])".utf8)),
            claims["iss"]?.string == key.key.issuerID, claims["aud"]?.string == "appstoreconnect-v1",
            let bundleID = claims["bid"]?.string, key.bundleIDs?.contains(bundleID) ?? true,
            Self.isCurrent(claims, now)
        else { return nil }
        self.bundleID = bundleID
    }

    private static func text(_ headers: HTTPHeaders, maximumBytes: Int) -> Substring? {
        guard let field = headers.first(name: "Authorization"), field.utf8.count <= maximumBytes,
            field.hasPrefix("Bearer ")
        else { return nil }
        return field.dropFirst("Bearer ".count)
    }

    /// Apple's libraries without `iat` are accepted; a token from the future is not.
    private static func isCurrent(_ claims: JSONValue, _ now: Timestamp) -> Bool {
        let seconds = now.millisecondsSince1970 / 1000
        guard let expires = claims["exp"]?.number?.integer, expires > seconds else { return false }
        guard let issued = claims["iat"] else { return expires - seconds <= maximumSeconds }
        guard let issued = issued.number?.integer else { return false }
        return issued <= seconds && issued >= 0 && expires - issued <= maximumSeconds
    }

    private static let maximumSeconds: Int64 = 3600

    private static func json(_ part: Substring) -> JSONValue? {
        Base64URLDecoder.decode(part.utf8.span).flatMap { try? JSONValue(parsing: $0) }
    }
}
