// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Settings

/// Checks the clients file for valid entries that expire soon or are surprising.
struct ClientsCheck {
    let configuration: GatewayConfiguration
    let report: CheckReport
    let now: Timestamp

    /// The time before a key's end from which a warning is given: a month is enough to replace it.
    private static let notice: Duration = .seconds(30 * 86_400)

    func run() {
        let file = try? ClientsFile(configuration, at: now)
        if let file {
            let secrets = file.sharedSecrets.count
            report.ok("file", "clients: \(file.clients.count); apps with their own shared secret: \(secrets)")
            checkKeys(of: file.clients)
            checkLimits(of: file.clients)
        } else {
            report.ok("file", "none: only clients on this machine are served, without a key")
        }
        if configuration.apple.isEnabled { checkSecrets(for: file) }
    }

    private func checkKeys(of clients: [Client]) {
        let keys = clients.flatMap { client in client.keys.map { (client, $0) } }
        let locked = clients.filter { client in !client.keys.contains { $0.isActive(at: now) } }
        let ending = keys.compactMap { client, key -> String? in
            guard let end = key.expires, key.isActive(at: now), end <= now.advanced(by: Self.notice) else { return nil }
            return "\(client.name.printable()): \(key.id.printable()) on \(end.day)"
        }
        if !locked.isEmpty {
            report.fail(
                "keys", "clients without a valid key: \(locked.map(\.name).listed)",
                do: "Make a key for each with `receipt-gateway hash-key`, and restart the gateway.")
        }
        if !ending.isEmpty {
            report.warn(
                "expiry", "keys expire within 30 days: \(ending.listed)",
                do: "Make a second key for each with `receipt-gateway hash-key`; both work until the first expires.")
        }
        if locked.isEmpty, ending.isEmpty {
            report.ok("keys", "none of \(keys.count { $0.1.isActive(at: now) }) expires within 30 days")
        }
    }

    private func checkLimits(of clients: [Client]) {
        let free = clients.filter { $0.limits.policies.isEmpty && $0.limits.concurrency == nil }
        if free.isEmpty { return report.ok("limits", "each client has limits") }
        report.warn(
            "limits", "clients without limits: \(free.map(\.name).listed)",
            do: "Give them `limits`, or set `defaults`, so that one client cannot use up the capacity of all.")
    }

    private func checkSecrets(for file: ClientsFile?) {
        let secrets = SharedSecrets(configuration, file)
        if secrets.primary != nil {
            return report.ok("secrets", "the account's shared secret is set, for all apps without their own")
        }
        let lacking = (file?.clients ?? [.loopback]).flatMap { client -> [String] in
            guard case .only(let bundleIDs) = client.apps else { return [file == nil ? "any app" : "other apps"] }
            return Array(bundleIDs.filter { secrets.secret(forApp: $0) == nil })
        }
        if lacking.isEmpty { return report.ok("secrets", "each app has a shared secret") }
        report.warn(
            "secrets",
            "no shared secret for \(Set(lacking).sorted().listed): requests to Apple need the client's own `password`",
            do: "Set GATEWAY_APPLE_SHARED_SECRET_FILE, or `shared_secret_file` of each app in the clients file.")
    }
}

extension [String] {
    private static var maximumListed: Int { 5 }

    /// The first few names, and the number of the others.
    var listed: String {
        let rest = count > Self.maximumListed ? " and \(count - Self.maximumListed) more" : ""
        return prefix(Self.maximumListed).map { $0.printable() }.joined(separator: ", ") + rest
    }
}

extension Timestamp {
    /// The day in UTC: `2026-12-31`.
    var day: String { String(description.prefix { $0 != "T" }) }
}
