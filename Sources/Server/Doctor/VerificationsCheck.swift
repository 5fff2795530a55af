// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Operations
internal import RedisStore
internal import Settings

extension AreaCheck {
    /// Checks the settings for deferred verifications and ownership.
    func checkVerifications() {
        let clients = (try? ClientsFile(configuration, at: clock()))?.clients ?? []
        let rules = configuration.jobs
        report.ok(
            "deferred",
            "each waits up to \(rules.maximumAge.configurationText); a client has \(rules.maximumCount) at most, of "
                + "\(ByteCount.bytes(rules.maximumBytes).configurationText); all together "
                + ByteCount.bytes(rules.maximumTotalBytes).configurationText)
        report.ok(
            "ownership",
            "a binding is kept for \(configuration.ownership.retention.configurationText) after its last use; "
                + "fraud.suspected beyond \(configuration.ownership.maximumAccounts) accounts within "
                + configuration.ownership.window.configurationText)
        guard configuration.redis.url == nil else { return }
        checkDurability(deferring: clients.filter { $0.deferral != .onRequest }.map(\.name).sorted())
        checkBindings(rejecting: clients.filter { $0.ownership == .reject }.map(\.name).sorted())
    }

    private func checkDurability(deferring names: [String]) {
        guard !names.isEmpty else { return }
        report.warn(
            "durability",
            "clients with `defer` but no Redis: \(names.listed). Deferred verifications end with the process",
            do: "Set gateway.redis.url, or remove `defer` from these clients.")
    }

    private func checkBindings(rejecting names: [String]) {
        guard !names.isEmpty else { return }
        report.warn(
            "bindings",
            "clients with `ownership: reject` but no Redis: \(names.listed). After a restart any account is the first",
            do: "Set gateway.redis.url, or let these clients have `ownership: report`.")
    }
}

extension CheckReport {
    /// Records the deferred verifications in the store. A Redis without them has no line.
    func record(_ counts: JobCounts?, _ rules: JobRules) {
        guard let counts, counts.waiting + counts.failed > 0 else { return }
        let seen =
            "deferred: \(counts.waiting) wait, of \(StatusValue.bytes(counts.bytes).text); \(counts.failed) were given up"
        if counts.bytes > rules.maximumTotalBytes / 5 * 4 {
            return warn(
                "verifications",
                seen + ". gateway.jobs.max_total_bytes is nearly reached, and further ones are refused",
                do: "Check the connection to Apple. Raise the limit if Redis has the memory.")
        }
        guard counts.failed == 0 else {
            return warn(
                "verifications", seen,
                do:
                    "`receipt-gateway verifications list --status failed` shows them; their clients must send the purchases "
                    + "again.")
        }
        ok("verifications", seen)
    }
}
