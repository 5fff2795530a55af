// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Secrets

/// All settings, with their defaults.
///
/// Plain values, independent of environment and files. `ConfigurationKeys` gives each setting its name.
package struct GatewayConfiguration: Hashable, Sendable {
    /// The data plane, for clients.
    package var http = HTTPConfiguration()
    /// The admin plane, for the orchestrator and Prometheus.
    package var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    /// The host names served on the admin plane.
    package var adminHostNames = HostNames()
    package var shutdown = ShutdownConfiguration()
    /// The root certificates trusted besides Apple's.
    package var trustRoots: [TrustRoot] = []
    /// The YAML file with the clients and their API keys; nil if only loopback clients are served.
    package var clientsFile: String?
    /// The pepper of the API key hashes.
    var apiKeyPepper: Secret?
    package var log = LogConfiguration()
    package var nearCache = NearCacheConfiguration()
    /// The keys that name and encrypt everything in Redis: `StoreKeys`.
    package var cacheKeys: Secret?
    package var verification = VerificationConfiguration()
    package var apple = AppleConfiguration()
    /// The Redis that all nodes share.
    package var redis = RedisConfiguration()
    /// The response to `POST /verifyReceipt` without a verdict.
    package var undecidedReply = UndecidedReply.apple
}

/// An address to listen on.
package struct ListenerConfiguration: Hashable, Sendable {
    /// A host name or IP address.
    package var host: String
    /// A TCP port; 0 lets the system choose.
    package var port: Int
}

/// The data plane.
package struct HTTPConfiguration: Hashable, Sendable {
    package var listener = ListenerConfiguration(host: "127.0.0.1", port: 8080)
    /// The host names served without a clients file.
    package var hostNames = HostNames()
    package var limits = HTTPLimits()
    package var deadlines = HTTPDeadlines()
    /// The rule that finds the client's address.
    package var remoteAddresses = RemoteAddressRule()
    /// True if responses to clients with limits carry `X-RateLimit-*` besides `RateLimit`.
    package var sendsLegacyRateLimitFields = false
}

/// The size limits of requests, alone and together.
package struct HTTPLimits: Hashable, Sendable {
    /// The request target: path and query.
    package var target = ByteCount.kibibytes(8)
    /// Name and value of one header field.
    package var headerField = ByteCount.kibibytes(8)
    /// All header fields of a request together.
    package var headerList = ByteCount.kibibytes(16)
    package var headerFieldCount = 64
    /// One request body. A receipt of 5 MB is on record; base64 makes it 7.
    package var body = ByteCount.mebibytes(12)
    /// All request bodies in memory.
    package var bodiesInFlight = ByteCount.mebibytes(256)
    /// Open connections; more wait in the kernel's queue.
    package var connections = 4096
    /// Connections per address; 0 means a quarter of all.
    package var connectionsPerAddress = 0
    /// Requests in flight per address named by a trusted proxy; 0 means a quarter of `connections`.
    package var requestsPerAddress = 0
}

extension HTTPLimits {
    /// The effective number of connections per address.
    package var connectionsOfOneAddress: Int {
        connectionsPerAddress > 0 ? connectionsPerAddress : max(1, connections / 4)
    }

    /// The effective number of requests in flight per address behind a trusted proxy.
    package var requestsOfOneAddress: Int { requestsPerAddress > 0 ? requestsPerAddress : max(1, connections / 4) }
}

/// The time limits of a connection. All are absolute: a slow trickle of bytes does not extend them.
package struct HTTPDeadlines: Hashable, Sendable {
    /// From connecting to the end of the first request's header.
    package var headers: Duration = .seconds(5)
    /// From the end of a request's header to the end of its body.
    package var request: Duration = .seconds(15)
    /// From the end of a request to the end of its response.
    package var answer: Duration = .seconds(60)
    /// From the end of a response to the end of the next request's header.
    package var idle: Duration = .seconds(30)
}

/// The stages of a shutdown.
package struct ShutdownConfiguration: Hashable, Sendable {
    /// The time to keep serving after SIGTERM, so that load balancers notice.
    package var drainDelay: Duration = .seconds(5)
    /// The time limit for requests in flight once no more are accepted.
    package var grace: Duration = .seconds(20)
}

/// The log on standard error.
package struct LogConfiguration: Hashable, Sendable {
    /// The minimum level that is logged.
    package var level = Logger.Level.info
    /// The requests that get a line.
    package var requests = RequestLogging.all
    /// The sampling rules, if not all requests get a line.
    package var sampling = RequestSampling()
}

/// The near cache in this process.
package struct NearCacheConfiguration: Hashable, Sendable {
    package var size = ByteCount.mebibytes(64)
}

/// The rules of local verification.
package struct VerificationConfiguration: Hashable, Sendable {
    /// The maximum time a receipt's creation date may lie in the future.
    package var clockSkew: Duration = .seconds(300)
    /// The time a signing certificate is accepted after it expired.
    package var expiryGrace: Duration = .seconds(86_400)
}
