// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// Authenticates clients by their API keys and certificates.
package struct Authenticator: Sendable {
    /// The clients by the public part of their keys. Each key has an object of its own, made once.
    private let owners: [String: (client: Client, key: StoredKey)]
    /// Nil if every request is the loopback client's: only for listeners the network cannot reach.
    private let hasher: KeyHasher?
    private var certified: [CertificateIdentity: Client] = [:]

    static let loopbackOnly = Authenticator(owners: [:], hasher: nil)

    private init(owners: [String: (client: Client, key: StoredKey)], hasher: KeyHasher?) {
        (self.owners, self.hasher) = (owners, hasher)
    }

    /// Returns the client whose key the request carries in `Authorization: Bearer` (RFC 6750 §2.1), in `X-API-Key`, or
    /// as the password of `Authorization: Basic` (RFC 7617), which HTTP libraries send for `https://user:key@host/`.
    /// An unknown key or token in `Authorization` does not hide a key in `X-API-Key`: Apple's libraries for the Server API
    /// send a token for Apple there.
    ///
    /// Returns nil for a missing, unknown, wrong or expired key after the same work, so that the time does not show
    /// which half of a guess was right.
    package func client(with credentials: Credentials, at now: @autoclosure () -> Timestamp) -> Client? {
        guard let hasher else { return .loopback }
        var key: APIKey?, owner: (client: Client, key: StoredKey)?
        func lookUp(_ text: String?, _ read: (String) -> APIKey?) {
            guard owner == nil, let found = text.flatMap(read) else { return }
            (key, owner) = (found, owners[found.id])
        }
        lookUp(credentials.authorization, Self.key(inAuthorization:))
        lookUp(credentials.apiKey) { APIKey($0) }
        lookUp(credentials.queryKey) { APIKey($0) }
        let matches = hasher.matches(
            key?.secret ?? Self.placeholderSecret, hash: owner?.key.hash ?? Self.placeholderHash)
        guard matches, let owner, owner.key.expires.isAhead(of: now()) else { return nil }
        return owner.client
    }

    /// Returns the client that an identity of this certificate names, the first identity first; nil if none does.
    package func client(with certificate: ClientCertificate, at now: @autoclosure () -> Timestamp) -> Client? {
        let client = certificate.identities.lazy.compactMap { certified[$0] }.first
        guard let client, now() < certificate.expires else { return nil }
        return client
    }

    private static func key(inAuthorization field: String) -> APIKey? {
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        return switch parts[0].lowercased() {
        case "bearer": APIKey(parts[1])
        case "basic": APIKey(basicCredentials: parts[1])
        default: nil
        }
    }

    /// Placeholders for a missing key or owner, so that the same hash is computed and compared.
    private static let placeholderSecret = Secret(String(repeating: "A", count: 43))
    private static let placeholderHash = [UInt8](repeating: 0, count: 32)
}

extension Authenticator {
    init(clients: [Client], hasher: KeyHasher) {
        let owners = clients.flatMap { client in
            client.keys.map { ($0.id, (client: client.identified(by: $0), key: $0)) }
        }
        self.init(owners: Dictionary(owners) { first, _ in first }, hasher: hasher)
        for client in clients {
            for identity in client.certificates { certified[identity] = client }
        }
    }
}

/// The credentials in a request's header, and in its query where its route permits it. Several values of one field are
/// joined to a list (RFC 9110 §5.3), which is not a valid key.
package struct Credentials: Sendable {
    let authorization: String?
    let apiKey: String?
    /// The key in the query, where only plugins send it.
    package var queryKey: String?

    package init(authorization: String? = nil, apiKey: String? = nil) {
        self.authorization = authorization
        self.apiKey = apiKey
    }
}
