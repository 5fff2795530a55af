// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Cryptography
internal import Receipts
package import Redis

/// The settings of the Redis that all nodes share.
package struct RedisConfiguration: Hashable, Sendable {
    package var url: RedisURL?
    package var user: String?
    package var password: Password?
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var deadline = RedisNodeConfiguration.commandDeadline
    package var connectDeadline = RedisNodeConfiguration.connectDeadline
    package var expectedNodes = 1

    package init() {}

    package var contradictions: [ConfigurationProblem] {
        let hasFiles = caFile != nil || certificateFile != nil || keyFile != nil
        let hasSettings = user != nil || password != nil || hasFiles
        let rules: [(isBroken: Bool, location: String, fault: String)] = [
            (
                url == nil && hasSettings, "gateway.redis.url",
                """
                is missing, but other Redis settings are set; set GATEWAY_REDIS_URL, such as \
                redis://redis.internal:6379, or remove them all to run without Redis
                """
            ),
            (
                url?.usesTLS == false && hasFiles, "gateway.redis.url",
                """
                is without TLS, but certificate files are configured; write rediss instead of redis, or \
                remove GATEWAY_REDIS_CA_FILE, GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE
                """
            ),
            (
                (certificateFile == nil) != (keyFile == nil),
                certificateFile == nil ? "gateway.redis.certificate_file" : "gateway.redis.key_file",
                """
                is missing: a client certificate and its private key are needed together; set both \
                GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE, or neither
                """
            ),
            (
                password != nil && url?.credentials.password != nil, "gateway.redis.password",
                """
                is set, and gateway.redis.url contains a password as well; remove it from the URL, where it is easily \
                shown by accident
                """
            ),
        ]
        return rules.filter(\.isBroken).map { ConfigurationProblem(location: $0.location, fault: $0.fault) }
    }

    /// The fault that a user is named without a password, and the advice; nil if there is none.
    package var loginFault: (seen: String, advice: String)? {
        let hasPassword = (password?.secret.exposed ?? url?.credentials.password) != nil
        guard let user = user ?? url?.credentials.user, user != "default", !hasPassword else { return nil }
        // Without the name, which may be a password in the wrong place.
        return (
            "A Redis user is set without a password: the gateway does not log in, and Redis takes it for `default`",
            "Set gateway.redis.password_file (GATEWAY_REDIS_PASSWORD_FILE), or remove the user."
        )
    }
}

/// A password chosen elsewhere: unlike a `Secret` it may be short.
package struct Password: Hashable, Sendable {
    package let secret: Secret
}

extension Password: ConfigurationValue {
    package static var isSecret: Bool { true }
    package static var accepted: String { "a text, from the environment or a file" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        if text.isPlaceholder { throw ConfigurationValueFault(description: String.placeholderFault) }
        secret = Secret(text)
    }

    package var configurationText: String { Secret.redacted }
}

extension RedisURL: ConfigurationValue {
    /// The URL may contain a password.
    package static var isSecret: Bool { true }
    package static var accepted: String {
        "redis://host:6379/0, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379 "
            + "or redis+unix:///path; with rediss in place of redis for TLS, and user:password@ in front of the hosts"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        do throws(RedisURLError) {
            try self.init(text)
        } catch {
            throw ConfigurationValueFault(description: "\(error)")
        }
    }

    package var configurationText: String { description }
}

/// The keys that name and encrypt everything in Redis, as in `GATEWAY_CACHE_KEYS`: `id:base64,id:base64`, 32 random
/// bytes each. The first encrypts, all decrypt.
package struct StoreKeys: Hashable, Sendable {
    /// At least one; the first encrypts.
    package let all: [StoreKey]

    package enum Limits {
        /// The maximum number of keys: two during a rotation, and two in reserve.
        static let keys = 4
        /// The length of an ID, which precedes every encrypted value.
        static let idCharacters = 1...16
        package static let keyBytes = 32
    }

    /// - Throws: a fault in words that follow the setting's name, with the key's number from 1 and no part of a key.
    package init(_ text: String) throws(ConfigurationValueFault) {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { !$0.isWhitespace } }
        guard items.count <= Limits.keys else {
            throw ConfigurationValueFault(description: "has more than \(Limits.keys) keys")
        }
        var keys: [StoreKey] = []
        var secrets: Set<[UInt8]> = []
        for (index, item) in items.enumerated() {
            let number = index + 1
            let (id, secret) = try Self.parts(of: item, number: number)
            if keys.contains(where: { $0.id == id }) {
                throw ConfigurationValueFault(description: "has the ID of key \(number) twice")
            }
            if !secrets.insert(secret).inserted {
                throw ConfigurationValueFault(description: "has key \(number) twice, under two IDs")
            }
            keys.append(StoreKey(id: id, secret: secret))
        }
        all = keys
    }

    package var first: StoreKey { all[0] }

    private static func parts(
        of item: String, number: Int
    ) throws(ConfigurationValueFault) -> (id: String, secret: [UInt8]) {
        let parts = item.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard !item.isEmpty else { throw ConfigurationValueFault(description: "has nothing in place of key \(number)") }
        guard parts.count == 2 else {
            throw ConfigurationValueFault(description: "lacks an ID and a colon before key \(number)")
        }
        guard Limits.idCharacters.contains(parts[0].utf8.count), parts[0].utf8.allSatisfy(\.isBase64URL) else {
            throw ConfigurationValueFault(
                description: "needs an ID of 1 to 16 letters, digits, _ and - before key \(number)")
        }
        guard !parts[1].contains(where: { $0 == ":" || $0 == ";" }) else {
            throw ConfigurationValueFault(
                description: "has more than one key in place of key \(number): put a comma between two keys")
        }
        guard let secret = try? Base64.decode(String(parts[1])) else {
            throw ConfigurationValueFault(description: "has a key that is not base64: key \(number)")
        }
        guard secret.count == Limits.keyBytes else {
            throw ConfigurationValueFault(description: "has a key that is not 32 bytes long: key \(number)")
        }
        return (String(parts[0]), secret)
    }
}

package struct StoreKey: Hashable, Sendable, Redacted {
    /// The ID, which precedes every value encrypted with the key.
    package let id: String
    package let secret: [UInt8]

    package var description: String { "StoreKey(\(id))" }
}

extension StoreKeys: ConfigurationValue {
    package static var isSecret: Bool { true }
    package static var accepted: String {
        "up to \(Limits.keys) keys of \(Limits.keyBytes) random bytes, separated by commas, each with an ID as id:base64, "
            + "from the environment or a file; make a key with: \(recipe)"
    }

    package static let recipe = #"echo "$(date +%Y%m):$(openssl rand -base64 32)""#

    package init(configuration text: String) throws(ConfigurationValueFault) {
        try self.init(text)
    }

    package var configurationText: String { Secret.redacted }
}

extension RedisClientConfiguration {
    package init?(_ configuration: RedisConfiguration) throws(ConfigurationProblems) {
        guard let url = configuration.url else { return nil }
        do throws(RedisTLS.Fault) {
            let tls =
                try url.usesTLS
                ? RedisTLS(
                    caFile: configuration.caFile, certificateFile: configuration.certificateFile,
                    keyFile: configuration.keyFile) : nil
            try self.init(url, tls: tls)
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        node.credentials.user = configuration.user ?? url.credentials.user
        node.credentials.password = configuration.password?.secret.exposed ?? url.credentials.password
        node.commandDeadline = configuration.deadline
        node.connectDeadline = configuration.connectDeadline
        node.scripts =
            [
                RedisFlightLeases.acquisition, LeaseScripts.release, RedisFleetState.pause, RedisFleetState.lifecycle,
                RedisFleetState.quotaPause, NodeRegistry.beat, RedisTokenBuckets.script,
            ] + RedisPurges.scripts + OwnershipScripts.ofRequests
        node.trackedPrefixes = [
            SharedCacheNames.resultPrefix, RedisFlightLeases.prefix, RedisFleetState.pausePrefix,
            RedisFleetState.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension ConfigurationProblem {
    fileprivate init(_ fault: RedisTLS.Fault) {
        let pem = "is not a PEM file with"
        let (location, text) =
            switch fault {
            case .authorities(let path): (path, "\(pem) readable certificates (gateway.redis.ca_file)")
            case .certificate(let path): (path, "\(pem) readable certificates (gateway.redis.certificate_file)")
            case .privateKey(let path): (path, "\(pem) a readable private key (gateway.redis.key_file)")
            case .unmatched: ("gateway.redis.key_file", "is not the key of gateway.redis.certificate_file")
            }
        self.init(location: location, fault: text)
    }
}
