// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Logging
package import Cryptography

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

/// The log of events: `GET /v1/events`, and webhooks.
package struct EventsConfiguration: Hashable, Sendable {
    package var retention = EventRetention(maximumCount: 100_000, maximumAge: .seconds(7 * 86_400))
    /// True to keep what Apple signed with each event, for those who request it.
    package var keepsSignedData = false
    /// The time after the end of a period at which a subscription without other news counts as expired.
    package var expiryDelay: Duration = .seconds(3600)

    package init() {}

    /// `retention.maximumRelayBytes`.
    var relaySize: ByteCount {
        get { .bytes(retention.maximumRelayBytes) }
        set { retention.maximumRelayBytes = newValue.bytes }
    }
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

/// The form API: `POST /api` and `POST /apiencrypted`.
package struct FormConfiguration: Hashable, Sendable {
    /// One request body. A receipt of 105 KB takes 420 KB if every character is percent-encoded.
    package var bodyLimit = ByteCount.mebibytes(1)
    package var statuses = FormStatuses.ok
    package var envelope = FormEnvelope.text
    package var keyForm = EncryptionKeyForm.encoded
}

/// The HTTP statuses of answers whose JSON has a status of its own.
package enum FormStatuses: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// 200: clients read the JSON of every answer.
    case ok = "200"
    /// 401, 403 and 500 as in the JSON; 200 for Apple's.
    case same
}

package enum FormEnvelope: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// The base64 alone, as `text/plain`.
    case text
    case json
}

package struct ListenerConfiguration: Hashable, Sendable {
    package var host: String
    /// A TCP port; 0 lets the system choose.
    package var port: Int
}

/// The data plane.
package struct HTTPConfiguration: Hashable, Sendable {
    package var listener = ListenerConfiguration(host: "127.0.0.1", port: 8080)
    package var hostNames = HostNames()
    package var limits = HTTPLimits()
    package var deadlines = HTTPDeadlines()
    package var remoteAddresses = RemoteAddressRule()
    package var sendsLegacyRateLimitFields = false
}

/// The size limits of requests, alone and together.
package struct HTTPLimits: Hashable, Sendable {
    package var target = ByteCount.kibibytes(8)
    package var headerField = ByteCount.kibibytes(8)
    package var headerList = ByteCount.kibibytes(16)
    package var headerFieldCount = 64
    /// One request body. A receipt of 5 MB is on record; base64 makes it 7.
    package var body = ByteCount.mebibytes(12)
    package var bodiesInFlight = ByteCount.mebibytes(256)
    package var connections = 4096
    package var connectionsPerAddress = 0
    package var requestsPerAddress = 0

    package var connectionsOfOneAddress: Int {
        connectionsPerAddress > 0 ? connectionsPerAddress : max(1, connections / 4)
    }

    /// The effective number of requests in flight per address behind a trusted proxy.
    package var requestsOfOneAddress: Int { requestsPerAddress > 0 ? requestsPerAddress : max(1, connections / 4) }
}

/// The time limits of a connection. All are absolute: a slow trickle of bytes does not extend them.
package struct HTTPDeadlines: Hashable, Sendable {
    package var headers: Duration = .seconds(5)
    package var request: Duration = .seconds(15)
    package var answer: Duration = .seconds(60)
    package var idle: Duration = .seconds(30)
}

package struct ShutdownConfiguration: Hashable, Sendable {
    package var drainDelay: Duration = .seconds(5)
    package var grace: Duration = .seconds(20)
}

package struct LogConfiguration: Hashable, Sendable {
    package var level = Logger.Level.info
    package var requests = RequestLogging.all
    package var sampling = RequestSampling()
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

/// The requests that get a log line.
package enum RequestLogging: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    case none
    /// Failed and slow requests, and a share of the others.
    case sampled
    case all
}

package struct RequestSampling: Hashable, Sendable {
    package var oneIn = 100
    package var slow: Duration = .seconds(1)
    package var notablePerSecond = 10

    package init(oneIn: Int = 100, slow: Duration = .seconds(1), notablePerSecond: Int = 10) {
        (self.oneIn, self.slow, self.notablePerSecond) = (oneIn, slow, notablePerSecond)
    }
}

package enum Version {
    /// Semantic versioning 2.0.0. A test keeps `receipt-loadtest` and docs/api.yaml equal.
    package static let current = "0.1.0"
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
