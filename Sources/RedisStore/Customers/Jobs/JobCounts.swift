// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
package import Redis

/// The numbers of deferred verifications in Redis, for the doctor. Reading them needs no key and changes nothing.
package struct JobCounts: Hashable, Sendable {
    package let waiting: Int
    /// The size of the waiting jobs.
    package let bytes: Int
    package let failed: Int

    package init(waiting: Int, bytes: Int, failed: Int) {
        (self.waiting, self.bytes, self.failed) = (waiting, bytes, failed)
    }

    /// Reads the numbers. Returns nil if Redis does not answer, or has other data under these keys.
    package init?(_ redis: any RedisCommands) async {
        let answers = await redis.send([
            RedisCommand("ZCARD", key: RedisWord(JobKeys.jobs(.waiting))),
            RedisCommand("ZCARD", key: RedisWord(JobKeys.jobs(.failed))),
            RedisCommand("HGET", key: RedisWord(JobKeys.usage), "total"),
        ]).map { try? $0.get() }
        guard case .integer(let waiting) = answers[0], case .integer(let failed) = answers[1] else { return nil }
        (self.waiting, self.failed) = (Int(clamping: waiting), Int(clamping: failed))
        bytes = Int(clamping: answers[2]?.number ?? 0)
    }
}
