// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Receipts
internal import Settings

extension AreaCheck {
    /// The time before a key's end from which a warning is given: a month is enough to replace it.
    private static let keyNotice: Duration = .seconds(30 * 86_400)

    /// Checks the clients file for valid entries that expire soon or are surprising.
    func checkClients() {
        let now = clock(), file = try? ClientsFile(configuration, at: now)
        if let file {
            let secrets = file.sharedSecrets.count
            let forms = file.formAccounts.isEmpty ? "" : "; form accounts: \(file.formAccounts.count)"
            let keys =
                file.serverAPIKeys.all.isEmpty ? "" : "; App Store Server API keys: \(file.serverAPIKeys.all.count)"
            report.ok(
                "file", "clients: \(file.clients.count)\(forms); apps with their own shared secret: \(secrets)\(keys)")
            checkKeys(file.keys, at: now)
            checkLimits(of: file.clients + file.formAccounts.map(\.client))
        } else {
            report.ok("file", "none: only clients on this machine are served, without a key")
        }
        let rules = AccessRules(configuration, file)
        report.warn("signatures", rules.signatureFault)
        report.warn("addresses", configuration.addressFault(rules))
        guard configuration.apple.isEnabled else { return }
        report.warn("plugins", rules.pluginFault)
        checkSecrets(of: rules)
        report.warn("receipt_upstream", rules.receiptUpstreamFault)
    }

    private func checkKeys(_ keys: [ClientKeys], at now: Timestamp) {
        // A client that only receives webhooks has no key.
        let locked = keys.filter { client in
            !client.hasCertificates && !client.ends.isEmpty && !client.ends.contains { $0.end.isAhead(of: now) }
        }
        let ending = keys.flatMap { client in
            client.ends.compactMap { key -> String? in
                guard let end = key.end, now < end, end <= now.advanced(by: Self.keyNotice) else { return nil }
                return "\(client.name.printable()): \(key.name.printable()) on \(end.day)"
            }
        }
        if !locked.isEmpty {
            report.fail(
                "keys", "clients without a valid key: \(locked.map(\.name).listed)",
                do: "Make a key for each with `receipt-gateway hash-key`. The gateway reads the changed file by itself."
            )
        }
        if !ending.isEmpty {
            report.warn(
                "expiry", "keys expire within 30 days: \(ending.listed)",
                do: "Make a second key for each with `receipt-gateway hash-key`; both work until the first expires.")
        }
        if locked.isEmpty, ending.isEmpty {
            let valid = keys.flatMap(\.ends).count { $0.end.isAhead(of: now) }
            report.ok("keys", "none of \(valid) expires within 30 days")
        }
    }

    private func checkLimits(of clients: [Client]) {
        let free = clients.filter { $0.limits.policies.isEmpty && $0.limits.concurrency == nil }
        if free.isEmpty { return report.ok("limits", "each client has limits") }
        report.warn(
            "limits", "clients without limits: \(free.map(\.name).listed)",
            do: "Give them `limits`, or set `defaults`, so that one client cannot use up the capacity of all.")
    }

    private func checkSecrets(of rules: AccessRules) {
        if rules.secrets.primary != nil {
            return report.ok("secrets", "the account's shared secret is set, for all apps without their own")
        }
        if rules.serverAPIKeys.account != nil {
            return report.ok(
                "secrets",
                "no shared secret of the account; its key of the App Store Server API serves all apps without a key of "
                    + "their own")
        }
        let lacking = rules.appsWithoutCredentials + rules.otherApps
        if lacking.isEmpty { return report.ok("secrets", "each app has a shared secret or a key") }
        report.warn(
            "secrets",
            "no shared secret for \(lacking.listed): requests to Apple need the client's own `password`",
            do:
                "Set GATEWAY_APPLE_SHARED_SECRET_FILE, or `shared_secret_file` or `server_api` of each app in the clients "
                + "file.")
    }
}

extension ServerAPIKeys {
    var all: [ServerAPIKey] { (account.map { [$0] } ?? []) + ofApps.values }
}

/// The keys of a client, or of its form account, with the times from which they are rejected.
private typealias ClientKeys = (name: String, hasCertificates: Bool, ends: [(name: String, end: Timestamp?)])

extension ClientsFile {
    fileprivate var keys: [ClientKeys] {
        clients.map { ($0.name, !$0.certificates.isEmpty, $0.keys.map { ($0.id, $0.expires) }) }
            + formAccounts.map { ($0.client.name, false, $0.keys.map { ("a form key", $0.expires) }) }
    }
}

extension Timestamp {
    /// The day in UTC: `2026-12-31`.
    var day: String { String(description.prefix { $0 != "T" }) }
}
