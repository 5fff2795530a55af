// SPDX-License-Identifier: Apache-2.0

internal import Customers
package import Redis

/// The question whether Redis has notifications, events or states of apps, for the doctor. It needs no key and changes
/// nothing.
package enum KeptNotifications {
    package enum Limits {
        /// The number of apps that are looked up; each has a few keys.
        package static let apps = 16
    }

    /// Returns true if Redis has any of the first apps.
    package static func exist(in redis: any RedisCommands, ofApps bundleIDs: [String]) async -> Bool {
        let partitions = bundleIDs.prefix(Limits.apps).flatMap { AppPartition.all(of: $0) }
        guard !partitions.isEmpty else { return false }
        let commands = partitions.map { RedisCommand("EXISTS", key: NotificationKeys($0).totals) }
        return await redis.send(commands).contains { (try? $0.get().number).map { $0 > 0 } ?? false }
    }
}
