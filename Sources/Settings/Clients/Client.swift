// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// Somebody who may ask: an app's backend, known by its API keys.
///
/// A class, because each request refers to its client and never changes it.
package final class Client: Sendable {
    /// The name in logs; never in answers.
    package let name: String
    /// The apps it may ask about.
    package let apps: PermittedApps
    /// Its API keys; two at most, so that one can be replaced while the other still works.
    package let keys: [StoredKey]
    /// What it may use of the gateway.
    package let limits: ClientLimits
    /// What it may do beside asking.
    package let may: Set<Permission>

    /// Creates a client.
    init(
        name: String, apps: PermittedApps, keys: [StoredKey], limits: ClientLimits = ClientLimits(),
        may: Set<Permission> = []
    ) {
        self.name = name
        self.apps = apps
        self.keys = keys
        self.limits = limits
        self.may = may
    }

    /// What is for few. The raw values are those of the clients file.
    package enum Permission: String, CaseIterable, Sendable {
        /// Have what Apple said of a transaction forgotten.
        case purge
    }
}

extension Client: Hashable {
    package static func == (one: Client, other: Client) -> Bool {
        one === other
            || (one.name, one.apps, one.keys, one.limits, one.may)
                == (other.name, other.apps, other.keys, other.limits, other.may)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Client {
    /// Everybody on this machine, where no clients are configured.
    package static let loopback = Client(name: "loopback", apps: .all, keys: [], may: Set(Permission.allCases))

    /// True for a client that is served without an API key, since it can reach a listener on loopback.
    package var isKeyless: Bool { keys.isEmpty }
}

/// What the gateway knows of an API key: enough to recognise it, not enough to use it.
package struct StoredKey: Hashable, Sendable {
    /// The public half, by which it is found.
    package let id: String
    /// HMAC-SHA256(pepper, secret): 32 bytes.
    let hash: [UInt8]
    /// From when it is refused; nil for never.
    package let expires: Timestamp?

    /// Whether it is still good.
    package func isActive(at now: Timestamp) -> Bool {
        expires.map { now < $0 } ?? true
    }
}
