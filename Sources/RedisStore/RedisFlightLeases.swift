// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
package import Redis

/// The leases of a fleet, in Redis: a key that holds the holder's token and ends by itself.
///
/// A holder that asked in vain leaves a note in its place for a moment, for those who waited for it: errors are delivered
/// to them, so that they do not all ask a failing Apple one after the other, and are kept for nobody else.
package struct RedisFlightLeases: FlightLeases {
    /// Where the leases are.
    let store: any RedisCommands
    /// Makes the names of their keys.
    let names: StoreNames
    /// Who waits for which key.
    let waits: KeyChangeWaiters

    /// The beginning of the keys: the number grows when the values change.
    package static let prefix = "rcl:1:"

    enum Limits {
        /// A holder that is gone keeps others waiting no longer than this.
        static let milliseconds = 3000
        /// Who waits looks every 200 ms at least.
        static let noteMilliseconds = 1000
        /// Bytes of a value that is read: a token and a reason.
        static let valueBytes = 128
    }

    func acquire(_ key: CacheKey, awaiting holder: String?) async -> FlightLeaseAttempt {
        let token = String.randomName()
        do throws(RedisError) {
            let reply = try await store.run(
                Self.acquisition, keys: [RedisWord(name(of: key))],
                [RedisWord(token), RedisWord(Limits.milliseconds), RedisWord(holder ?? "")])
            return FlightLeaseAttempt(reply, FlightLease(key, token: token), awaiting: holder)
        } catch {
            return .unavailable
        }
    }

    func release(_ lease: FlightLease, telling failure: DegradedReason?) async {
        // If this is lost the lease ends by itself.
        _ = try? await store.run(
            Self.release, keys: [RedisWord(name(of: lease.key))],
            [RedisWord(lease.token), RedisWord(failure?.rawValue ?? ""), RedisWord(Limits.noteMilliseconds)])
    }

    func waitForChange(of key: CacheKey, upTo span: Duration) async {
        await waits.wait(for: name(of: key), upTo: span)
    }

    private func name(of key: CacheKey) -> String { Self.prefix + names.name("lease", key.parts) }
}

// MARK: - In Redis

extension RedisFlightLeases {
    /// Both scripts, to be loaded before they are called.
    static let scripts = [acquisition, release]

    /// KEYS lease; ARGV token, milliseconds, the token of who was waited for. Nil if the lease is the caller's, else what
    /// stands there: the holder's token, or `!`, the token of who was waited for, and why that one failed.
    package static let acquisition = RedisScript(
        """
        local value = redis.call('GET', KEYS[1])
        if value then
            -- Longer than any token and reason: somebody else's, and too long to be carried about.
            if #value > \(Limits.valueBytes) then return '' end
            if string.sub(value, 1, 1) ~= '!' then return value end
            if ARGV[3] ~= '' and string.sub(value, 2, 1 + #ARGV[3]) == ARGV[3] then return value end
        end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return false
        """)

    /// KEYS lease; ARGV token, reason or nothing, milliseconds for the note. 1 if the lease was the caller's.
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

extension FlightLeaseAttempt {
    /// What the reply means. What nobody of ours wrote is no reason to wait.
    fileprivate init(_ reply: RedisValue, _ lease: FlightLease, awaiting holder: String?) {
        switch reply {
        case .null: self = .held(lease)
        case .string(let bytes) where bytes.count <= RedisFlightLeases.Limits.valueBytes:
            let text = String(decoding: bytes, as: UTF8.self)
            if text.isEmpty {
                self = .unavailable
            } else if !text.hasPrefix("!") {
                self = .taken(by: text)
            } else if let holder, let reason = DegradedReason(rawValue: String(text.dropFirst(1 + holder.count))) {
                self = .failed(reason)
            } else {
                self = .unavailable
            }
        default: self = .unavailable
        }
    }
}
