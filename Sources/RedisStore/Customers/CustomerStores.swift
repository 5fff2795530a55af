// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Receipts
package import Redis

/// The stores of data about customers in Redis, encrypted under pseudonymous names.
package struct CustomerStores: Sendable {
    package let notifications: any NotificationStore
    package let events: any EventLog & EventWriter
    package let deliveries: any DeliveryStore
    package let jobs: any JobStore
    package let ownership: any OwnershipStore
    /// The stores above in the order of their erasure.
    package let erasable: [any CustomerDataStore]
    /// The customer states, which are erased last: they have the other names of renamed chains.
    package let states: any CustomerDataStore

    /// The time that a command of these stores may take: they are large, and may wait for replicas.
    package static let commandDeadline = RedisNotifications.Limits.commandDeadline

    /// The bytes of a reply that the connections must accept.
    package static let replyBytes = RedisJobStore.Limits.replyBytes

    /// The scripts that the connections load.
    package static let scripts =
        NotificationScripts.all + EventScripts.all + DeliveryScripts.all + JobScripts.all + OwnershipScripts.all
        + ErasureScripts.all + [LeaseScripts.release]

    /// The scripts that the connections of clients' requests load.
    package static let requestScripts = OwnershipScripts.ofRequests

    /// The settings of the stores.
    package struct Rules: Sendable {
        /// The maximum bytes of notifications that are not applied yet.
        let backlogBytes: Int
        /// The replicas of Redis that must have a notification before Apple gets an answer.
        let replicas: Int
        let events: EventsConfiguration
        let jobs: JobRules
        let ownership: OwnershipRules

        package init(
            backlogBytes: Int, replicas: Int, events: EventsConfiguration, jobs: JobRules, ownership: OwnershipRules
        ) {
            (self.backlogBytes, self.replicas, self.events) = (backlogBytes, replicas, events)
            (self.jobs, self.ownership) = (jobs, ownership)
        }
    }

    /// - Parameters:
    ///   - redis: connections of their own, so that requests of clients do not wait behind large commands.
    ///   - requests: the connections that read states and record uses for clients.
    ///   - relays: returns true for an app whose notifications are relayed.
    package init(
        _ redis: any RedisCommands, requests: any RedisCommands, keys: StoreKeys, _ rules: Rules,
        relays: @escaping @Sendable (_ bundleID: String) -> Bool, clock: @escaping @Sendable () -> Timestamp,
        observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        let notifications = RedisNotifications(
            redis, requests: requests, keys: keys, maximumBytes: rules.backlogBytes,
            replicas: rules.replicas, rules: rules.events.rules,
            retention: rules.events.retention, relays: relays, clock: clock, observe: observe)
        let events = RedisEventLog(redis, keys: keys, retention: rules.events.retention, observe: observe)
        let deliveries = RedisDeliveryStore(redis, keys: keys)
        let jobs = RedisJobStore(redis, keys: keys, rules: rules.jobs, observe: observe)
        (self.notifications, self.events, self.deliveries, self.jobs) = (notifications, events, deliveries, jobs)
        ownership = RedisOwnershipStore(
            redis, requests: requests, keys: keys, rules: rules.ownership,
            retention: rules.events.retention, observe: observe)
        erasable = [notifications, events, deliveries, jobs]
        states = RedisStateErasure(store: notifications)
    }
}
