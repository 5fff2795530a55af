// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Settings

/// The result of the checks of Redis for data that no other system can restore: notifications, events, deferred
/// verifications, and owners of purchases.
enum StoreFinding: Hashable, Sendable {
    case notConfigured
    /// Redis takes it. The data outlives a restart of Redis if `isPersistent` is true; nil if Redis does not say.
    case kept(isPersistent: Bool?)
    /// Redis does not take it, or may delete it.
    case fault(CheckResult.Level, seen: String, advice: String)

    /// The checks of Redis did not reach an end.
    static let unchecked = fault(
        .failed, seen: "the checks of Redis did not finish", advice: "Fix the problems of Redis first.")
    static let unreachable = fault(
        .failed, seen: "Redis cannot be used", advice: "Fix the problems of Redis first.")

    /// The finding for a policy of `maxmemory-policy` by which Redis evicts keys that never expire.
    static func evicts(_ policy: String, isUsed: Bool) -> Self {
        .fault(
            isUsed ? .failed : .warning, seen: "Redis may evict them (maxmemory-policy \(policy))",
            advice: NotificationStoreFault.evictionAdvice)
    }
}

extension AccessRules {
    /// True if these settings only make sense with notifications, events, deferred verifications or owners of purchases.
    func useKeptData(_ configuration: GatewayConfiguration) -> Bool {
        configuration.notifications.token != nil || !webhooks.isEmpty
            || allClients.contains { $0.deferral != .onRequest || $0.ownership == .reject }
    }
}
