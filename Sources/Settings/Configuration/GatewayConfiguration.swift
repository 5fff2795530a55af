// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Cryptography
package import Customers
package import HTTPServer
package import Receipts
package import RedisStore
package import Telemetry

/// All settings, with their defaults.
///
/// Plain values, independent of environment and files. `ConfigurationKeys` has the name and range of each setting,
/// docs/configuration.md its meaning.
package struct GatewayConfiguration: Hashable, Sendable {
    package var http = HTTPConfiguration()
    /// The admin plane, for the orchestrator and Prometheus.
    package var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    package var adminHostNames = HostNames()
    package var shutdown = ShutdownConfiguration()
    package var trustRoots: [TrustRoot] = []
    package var intermediatesFile: String?
    package var clientsFile: String?
    var apiKeyPepper: Secret?
    package var log = LogConfiguration()
    package var nearCacheSize = ByteCount.mebibytes(64)
    package var signedItemCacheSize = ByteCount.mebibytes(32)
    /// The keys that name and encrypt everything in Redis: `StoreKeys`.
    package var cacheKeys: Secret?
    package var verification = VerificationPolicy()
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
    package var backlog = ByteCount.mebibytes(256)
    package var replicas = 0
    package var allowsVolatile = false
    package var recoveryInterval: Duration = .seconds(3600)
}

/// The transport of webhooks. The endpoints are in the clients file.
package struct WebhooksConfiguration: Hashable, Sendable {
    package var allowsPrivateAddresses = false
    package var allowsPlainHTTP = false
    package var caFile: String?
    package var proxy: ProxyURL?
    package var timeout: Duration = .seconds(15)
    package var concurrency = 16
}

extension Int {
    /// A number of bytes as the value of a setting.
    var byteCount: ByteCount {
        get { .bytes(self) }
        set { self = newValue.bytes }
    }
}

extension GatewayConfiguration {
    /// The problems of settings that are valid by themselves, but not together.
    var contradictions: [ConfigurationProblem] {
        let limits = http.limits
        let known: [(isFound: Bool, location: String, fault: String)] = [
            // Without API keys, any client that reaches the port could use the gateway.
            (
                clientsFile == nil && !Loopback.contains(http.listener.host), "gateway.http.host",
                """
                "\(http.listener.host)" is reachable from the network, and no clients are configured. Either listen on \
                127.0.0.1, or make an API key with `receipt-gateway hash-key`, paste what it prints into a clients \
                file, and set GATEWAY_CLIENTS_FILE (gateway.clients_file) to its path and GATEWAY_API_KEY_PEPPER to \
                the pepper it was made with
                """
            ),
            (
                clientsFile != nil && apiKeyPepper == nil, "gateway.api_key_pepper",
                """
                is missing, and the keys in the clients file cannot be checked without it; set GATEWAY_API_KEY_PEPPER \
                or GATEWAY_API_KEY_PEPPER_FILE to the pepper `receipt-gateway hash-key` was used with
                """
            ),
            (
                limits.body > limits.bodiesInFlight, "gateway.http.limits.body",
                """
                is \(limits.body.configurationText), more than the limit for all bodies together \
                (gateway.http.limits.bodies_in_flight is \(limits.bodiesInFlight.configurationText))
                """
            ),
            (
                redis.url != nil && cacheKeys == nil, "gateway.cache.keys",
                """
                is missing, and the gateway stores only encrypted values in Redis; set GATEWAY_CACHE_KEYS or \
                GATEWAY_CACHE_KEYS_FILE, the same on all nodes: \(Self.keyRecipe)
                """
            ),
        ]
        return known.filter(\.isFound).map { ConfigurationProblem(location: $0.location, fault: $0.fault) }
            + ConfigurationProblems.of { () throws(ConfigurationProblems) in _ = try storeKeys } + redis.contradictions
    }

    package var storeKeys: StoreKeys? {
        get throws(ConfigurationProblems) {
            guard let cacheKeys else { return nil }
            do throws(ConfigurationValueFault) {
                return try StoreKeys(cacheKeys.exposed)
            } catch {
                throw ConfigurationProblems(
                    "gateway.cache.keys", "\(error.description); make a key with: \(Self.keyRecipe)")
            }
        }
    }

    static let keyRecipe = #"echo "$(date +%Y%m):$(openssl rand -base64 32)""#
}
