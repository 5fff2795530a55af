// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
package import Redis

/// The fleet's flight leases in Redis: a key with the holder's token that expires by itself.
///
/// A holder whose request failed leaves the reason in its place for a second. Waiting nodes read it instead of sending
/// more requests to a failing Apple; later requests ignore it.
package struct RedisFlightLeases: FlightLeases {
    let store: any RedisCommands
    let names: StoreNames
    let waits: KeyChanges

    /// The key prefix. The number increases when the format of values changes.
    package static let prefix = "rcl:1:"

    enum Limits {
        /// The lifetime of a lease, and so the longest wait for a holder that is gone.
        static let milliseconds = 3000
        /// The lifetime of a failure's reason; waiting nodes look at least every 200 ms.
        static let failureMilliseconds = 1000
        /// The maximum size of a value that is read: a token and a reason.
        static let valueBytes = 128
    }

    func acquire(_ key: CacheKey, awaiting holder: String?) async -> FlightLeaseAttempt {
        let token = String.randomName()
        let reply = try? await store.run(
            Self.acquisition, keys: [RedisWord(name(of: key))], token, Limits.milliseconds, holder ?? "")
        return reply.map { FlightLeaseAttempt($0, FlightLease(key, token: token), awaiting: holder) } ?? .unavailable
    }

    func release(_ lease: FlightLease, after failure: DegradedReason?) async {
        // If the release is lost, the lease expires by itself.
        _ = try? await store.run(
            LeaseScripts.release, keys: [RedisWord(name(of: lease.key))], lease.token, failure?.rawValue ?? "",
            Limits.failureMilliseconds)
    }

    func waitForChange(of key: CacheKey, upTo span: Duration) async {
        await waits.wait(for: name(of: key), upTo: span)
    }

    private func name(of key: CacheKey) -> String { Self.prefix + names.name("lease", key.parts) }

    /// KEYS lease; ARGV token, milliseconds, the awaited holder's token. Returns nil if the caller got the lease.
    /// Otherwise returns the holder's token, or `!`, the awaited holder's token and the reason of its failure.
    package static let acquisition = RedisScript(
        """
        local value = redis.call('GET', KEYS[1])
        if value then
            -- Longer than any token and reason: not the gateway's, and too long to send.
            if #value > \(Limits.valueBytes) then return '' end
            if string.sub(value, 1, 1) ~= '!' then return value end
            if ARGV[3] ~= '' and string.sub(value, 2, 1 + #ARGV[3]) == ARGV[3] then return value end
        end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return false
        """)
}

extension FlightLeaseAttempt {
    /// Parses a reply. A value the gateway did not write is no reason to wait.
    fileprivate init(_ reply: RedisValue, _ lease: FlightLease, awaiting holder: String?) {
        let bytes = reply.bytes.flatMap { 1...RedisFlightLeases.Limits.valueBytes ~= $0.count ? $0 : nil }
        switch bytes.flatMap({ String(outside: $0) }) {
        case nil: self = reply == .null ? .held(lease) : .unavailable
        case let text? where !text.hasPrefix("!"): self = .taken(by: text)
        case let text?:
            let reason = holder.flatMap { DegradedReason(rawValue: String(text.dropFirst(1 + $0.count))) }
            self = reason.map { .failed($0) } ?? .unavailable
        }
    }
}

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
