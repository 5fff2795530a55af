// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// Authenticates requests of the form API by the key and the token in their body.
package struct FormAuthenticator: Sendable {
    /// The maximum length of a key or a token.
    package static let maximumBytes = 256

    private let accounts: [[UInt8]: KnownKey]
    /// Nil without accounts.
    private let hasher: FormKeyHasher?

    private struct KnownKey {
        let key: FormKey
        let client: Client
        /// The apps of the account, by the hashes of their tokens.
        let apps: [[UInt8]: FormApp]
    }

    static let none = FormAuthenticator(accounts: [:], hasher: nil)
}

extension FormAuthenticator {
    init(accounts: [FormAccount], hasher: FormKeyHasher) {
        var known: [[UInt8]: KnownKey] = [:]
        for account in accounts {
            let apps = account.apps.map { (hasher.hash(ofToken: Array($0.token.exposed.utf8).span), $0) }
            for key in account.keys {
                known[key.hash] = KnownKey(
                    key: key, client: account.client, apps: Dictionary(apps) { first, _ in first })
            }
        }
        self.init(accounts: known, hasher: known.isEmpty ? nil : hasher)
    }

    /// True if the form API is offered.
    package var hasAccounts: Bool { hasher != nil }

    /// Returns the client and the app that a key and a token name together. A token is looked up among the apps of the
    /// key's account only.
    ///
    /// Both are hashed whatever the outcome. The tables are searched by hashes under secret keys, which no one outside
    /// can choose, and the hash that is found is compared in constant time.
    /// - Throws: the part that is wrong. Answers must not tell it: it is for limits and metrics.
    package func access(
        key: Span<UInt8>, token: Span<UInt8>, at now: Timestamp
    ) throws(FormCredentialFault) -> FormAccess {
        guard let hasher else { throw .key }
        let (keyHash, tokenHash) = (hasher.hash(ofKey: key), hasher.hash(ofToken: token))
        let account = accounts[keyHash]
        let isKey = hasher.isKey(key, withHash: account?.key.hash ?? Self.placeholderHash)
        guard let account, isKey, account.key.expires.isAhead(of: now) else { throw .key }
        guard let app = account.apps[tokenHash] else { throw .token(account.client) }
        return FormAccess(client: account.client, app: app)
    }

    /// Compared for an unknown key, so that it costs as much as a known key.
    private static let placeholderHash = [UInt8](repeating: 0, count: 32)
}

/// The client and the app of a request whose key and token are right.
package struct FormAccess: Sendable {
    package let client: Client
    package let app: FormApp
}

/// The part of a request's credentials that is wrong.
package enum FormCredentialFault: Error, Hashable, Sendable {
    /// No account has the key, or it has expired.
    case key
    /// The key's account has no app with the token.
    case token(Client)
}
