// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis

/// The scripts of leases: keys that hold the token of their holder.
package enum LeaseScripts {
    /// KEYS lease; ARGV token, reason or nothing, the reason's milliseconds. Returns 1 if the lease was the caller's.
    package static let release = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        if ARGV[2] == '' then
            redis.call('DEL', KEYS[1])
        else
            redis.call('SET', KEYS[1], '!' .. ARGV[1] .. ARGV[2], 'PX', ARGV[3])
        end
        return 1
        """)
}
