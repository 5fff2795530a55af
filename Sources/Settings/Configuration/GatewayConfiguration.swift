// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Cryptography
package import Customers
package import HTTPServer
internal import Logging
package import RedisStore
package import Telemetry

/// All settings, with their defaults.
///
/// Plain values, independent of environment and files. `ConfigurationKeys` has the name, meaning and range of each
/// setting.
package struct GatewayConfiguration: Hashable, Sendable {
    package var http = HTTPConfiguration()
    /// The admin plane, for the orchestrator and Prometheus.
    package var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    package var adminHostNames = HostNames()
    package var shutdown = ShutdownConfiguration()
    package var trustRoots: [TrustRoot] = []
    package var trust = TrustConfiguration()
    package var clientsFile: String?
    var apiKeyPepper: Secret?
    package var log = LogConfiguration()
    package var nearCacheSize = ByteCount.mebibytes(64)
    package var signedItemCacheSize = ByteCount.mebibytes(32)
    /// The keys that name and encrypt everything in Redis: `StoreKeys`.
    package var cacheKeys: Secret?
    package var verification = VerificationConfiguration()
    package var apple = AppleConfiguration()
    package var redis = RedisConfiguration()
    package var form = FormConfiguration()
    package var notifications = NotificationsConfiguration()
    package var events = EventsConfiguration()
    package var webhooks = WebhooksConfiguration()
    package var jobs = JobRules()
    package var ownership = OwnershipRules()
}

/// Apple's server notifications: `POST /apple/notifications`.
package struct NotificationsConfiguration: Hashable, Sendable {
    /// The last segment of the path; nil to accept `/apple/notifications` itself.
    package var token: NotificationToken?
    /// The maximum size of what is stored and not applied yet, of all apps together.
    package var backlog = ByteCount.mebibytes(256)
    /// The replicas of Redis that must have a notification before Apple gets an answer.
    package var replicas = 0
    /// True to accept notifications without Redis, although they would be lost with the process.
    package var allowsVolatile = false
    /// The time between two looks into Apple's notification history.
    package var recoveryInterval: Duration = .seconds(3600)

    package init() {}
}

/// The transport of webhooks. The endpoints are in the clients file.
package struct WebhooksConfiguration: Hashable, Sendable {
    /// True if endpoints may have addresses that are not globally reachable.
    package var allowsPrivateAddresses = false
    /// True if URLs may be `http`.
    package var allowsPlainHTTP = false
    package var caFile: String?
    package var proxy: ProxyURL?
    /// The limit for one attempt.
    package var timeout: Duration = .seconds(15)
    /// The attempts in flight to one endpoint, on one node.
    package var concurrency = 16

    package init() {}
}

extension EventsConfiguration {
    /// `retention.maximumRelayBytes`.
    var relaySize: ByteCount {
        get { .bytes(retention.maximumRelayBytes) }
        set { retention.maximumRelayBytes = newValue.bytes }
    }
}

extension JobRules {
    /// `maximumBytes`.
    var clientSize: ByteCount {
        get { .bytes(maximumBytes) }
        set { maximumBytes = newValue.bytes }
    }

    /// `maximumTotalBytes`.
    var totalSize: ByteCount {
        get { .bytes(maximumTotalBytes) }
        set { maximumTotalBytes = newValue.bytes }
    }
}

/// The verification of transaction receipts: weak keys, and certificates beside Apple's.
package struct TrustConfiguration: Hashable, Sendable {
    /// True if transaction receipts of version 2 are verified, whose signers have RSA keys of 1024 bits.
    package var acceptsTransactionReceiptVersion2 = false
    /// A PEM file with intermediates of transaction receipts beside Apple's.
    package var intermediatesFile: String?
}

package struct VerificationConfiguration: Hashable, Sendable {
    package var clockSkew: Duration = .seconds(300)
    package var expiryGrace: Duration = .seconds(86_400)
}

extension GatewayConfiguration {
    /// The problems of settings that are valid by themselves, but not together.
    var contradictions: [ConfigurationProblem] {
        [
            openToTheNetworkWithoutClients, clientsWithoutPepper, bodyBeyondBudget, sharedWithoutKeys,
        ].compactMap { $0 } + ConfigurationProblems.of { () throws(ConfigurationProblems) in _ = try storeKeys }
            + redis.contradictions
    }

    /// Without API keys, any client that reaches the port could use the gateway.
    private var openToTheNetworkWithoutClients: ConfigurationProblem? {
        guard clientsFile == nil, !Loopback.contains(http.listener.host) else { return nil }
        return ConfigurationProblem(
            location: "gateway.http.host",
            fault: """
                "\(http.listener.host)" is reachable from the network, and no clients are configured. Either listen on \
                127.0.0.1, or make an API key with `receipt-gateway hash-key`, paste what it prints into a clients \
                file, and set GATEWAY_CLIENTS_FILE (gateway.clients_file) to its path and GATEWAY_API_KEY_PEPPER to \
                the pepper it was made with
                """)
    }

    private var clientsWithoutPepper: ConfigurationProblem? {
        guard clientsFile != nil, apiKeyPepper == nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.api_key_pepper",
            fault: """
                is missing, and the keys in the clients file cannot be checked without it; set GATEWAY_API_KEY_PEPPER \
                or GATEWAY_API_KEY_PEPPER_FILE to the pepper `receipt-gateway hash-key` was used with
                """)
    }

    private var sharedWithoutKeys: ConfigurationProblem? {
        guard redis.url != nil, cacheKeys == nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.cache.keys",
            fault: """
                is missing, and the gateway stores only encrypted values in Redis; set GATEWAY_CACHE_KEYS or \
                GATEWAY_CACHE_KEYS_FILE, the same on all nodes: \(Self.keyRecipe)
                """)
    }

    private var bodyBeyondBudget: ConfigurationProblem? {
        guard http.limits.body > http.limits.bodiesInFlight else { return nil }
        return ConfigurationProblem(
            location: "gateway.http.limits.body",
            fault: """
                is \(http.limits.body.configurationText), more than the limit for all bodies together \
                (gateway.http.limits.bodies_in_flight is \(http.limits.bodiesInFlight.configurationText))
                """)
    }
}

extension ConfigurationProblem {
    static let noPepper = ConfigurationProblem(
        location: "GATEWAY_API_KEY_PEPPER",
        fault: #"is not set; make one: export GATEWAY_API_KEY_PEPPER="$(openssl rand -base64 32)""#)
}

extension GatewayConfiguration {
    package var storeKeys: StoreKeys? {
        get throws(ConfigurationProblems) {
            guard let cacheKeys else { return nil }
            do throws(ConfigurationValueFault) {
                return try StoreKeys(cacheKeys.exposed)
            } catch {
                let fault = "\(error.description); make a key with: \(Self.keyRecipe)"
                throw ConfigurationProblems(
                    problems: [ConfigurationProblem(location: "gateway.cache.keys", fault: fault)])
            }
        }
    }

    static let keyRecipe = #"echo "$(date +%Y%m):$(openssl rand -base64 32)""#
}
