// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Secrets
internal import Synchronization

/// Who may ask, and what Apple is asked with.
package struct AccessRules: Hashable, Sendable {
    /// The clients; nil where everybody is the loopback client.
    var clients: [Client]?
    /// What their keys are hashed with.
    var pepper: Secret?
    /// The secrets that apps share with Apple.
    package var secrets = SharedSecrets()
}

extension AccessRules {
    /// The rules as configured.
    /// - Parameter file: the clients file; nil if there is none.
    package init(_ configuration: GatewayConfiguration, _ file: ClientsFile?) {
        self.init(
            clients: file?.clients, pepper: configuration.apiKeyPepper,
            secrets: SharedSecrets(configuration, file))
    }

    /// When the first key that is still good expires; nil if none ever does.
    package func firstExpiry(after now: Timestamp) -> Timestamp? {
        (clients ?? []).lazy.flatMap(\.keys).compactMap(\.expires).filter { now < $0 }.min()
    }
}

extension SharedSecrets {
    /// The account's secret, and those of the apps in the clients file.
    package init(_ configuration: GatewayConfiguration, _ file: ClientsFile?) {
        self.init(primary: configuration.apple.sharedSecret, ofApps: file?.sharedSecrets ?? [:])
    }
}

/// The rules in force at one moment, ready to be asked. It never changes: a reload puts another in its place, and a
/// request keeps to the one it began with.
package final class Access: Sendable {
    /// What it was made of.
    package let rules: AccessRules
    /// Tells who asks.
    package let authenticator: Authenticator
    /// Counts the changes of the shared secrets: an answer from an earlier edition may have been made with another one.
    package let edition: UInt64

    /// The rules, in force from now on.
    package init(_ rules: AccessRules, edition: UInt64 = 0) {
        self.rules = rules
        self.edition = edition
        if let clients = rules.clients, let pepper = rules.pepper {
            authenticator = Authenticator(clients: clients, hasher: KeyHasher(pepper: pepper))
        } else {
            authenticator = .loopbackOnly
        }
    }

    /// What follows when the rules change.
    func followed(by rules: AccessRules) -> Access {
        Access(rules, edition: rules.secrets == self.rules.secrets ? edition : edition + 1)
    }
}

/// The access in force. Each request asks for it once.
package final class CurrentAccess: Sendable {
    private let current: Mutex<Access>

    /// Begins with this one.
    package init(_ access: Access) {
        current = Mutex(access)
    }

    /// The one that holds for whatever begins now.
    package var now: Access { current.withLock { $0 } }

    /// Puts another in its place.
    func replace(with access: Access) {
        current.withLock { $0 = access }
    }
}
