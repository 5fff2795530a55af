// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Secrets

/// Everything an operator can set, with the values that hold where nothing is set.
///
/// Plain values: nothing here reads an environment or a file. `ConfigurationKeys` gives each one its name.
package struct GatewayConfiguration: Hashable, Sendable {
    /// The data plane: where clients ask.
    package var http = HTTPConfiguration()
    /// The admin plane: where the orchestrator asks.
    package var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    /// Host names that requests to the admin plane may carry.
    package var adminHostNames = HostNames()
    /// How the gateway stops.
    package var shutdown = ShutdownConfiguration()
    /// Certificates trusted beside Apple's roots.
    package var trustRoots: [TrustRoot] = []
    /// The YAML file with the clients and their API keys; nil admits loopback callers only.
    package var clientsFile: String?
    /// The key under which API secrets are hashed.
    var apiKeyPepper: Secret?
    /// What is written to standard error.
    package var log = LogConfiguration()
    /// The cache in this process.
    package var nearCache = NearCacheConfiguration()
    /// What everything in the shared store is named and sealed with: `StoreKeys`.
    package var cacheKeys: Secret?
    /// How receipts are judged.
    package var verification = VerificationConfiguration()
    /// How Apple is asked.
    package var apple = AppleConfiguration()
    /// The store that all nodes share.
    package var redis = RedisConfiguration()
    /// What callers of `POST /verifyReceipt` get when nothing can be said about a receipt.
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
    /// Where it listens.
    package var listener = ListenerConfiguration(host: "127.0.0.1", port: 8080)
    /// Host names that requests may carry where there is no clients file.
    package var hostNames = HostNames()
    /// What a request may weigh.
    package var limits = HTTPLimits()
    /// How long a connection may take for what.
    package var deadlines = HTTPDeadlines()
    /// Where requests come from.
    package var remoteAddresses = RemoteAddressRule()
    /// Whether answers of limited clients carry `X-RateLimit-*` beside `RateLimit`.
    package var sendsLegacyRateLimitFields = false
}

/// What requests may weigh, alone and together.
package struct HTTPLimits: Hashable, Sendable {
    /// The target of a request: path and query.
    package var target = ByteCount.kibibytes(8)
    /// Name and value of one header field.
    package var headerField = ByteCount.kibibytes(8)
    /// All header fields of a request together.
    package var headerList = ByteCount.kibibytes(16)
    /// Header fields in a request.
    package var headerFieldCount = 64
    /// One request body. A receipt of 5 MB is on record; base64 makes it 7.
    package var body = ByteCount.mebibytes(12)
    /// All request bodies in memory at one time.
    package var bodiesInFlight = ByteCount.mebibytes(256)
    /// Connections open at one time; more wait in the kernel's queue.
    package var connections = 4096
    /// Connections of one address; 0 is a quarter of all.
    package var connectionsPerAddress = 0
    /// Requests in flight of one address that a trusted proxy names; 0 is a quarter of `connections`.
    package var requestsPerAddress = 0
}

extension HTTPLimits {
    /// The connections that one address may hold.
    package var connectionsOfOneAddress: Int {
        connectionsPerAddress > 0 ? connectionsPerAddress : max(1, connections / 4)
    }

    /// The requests that one address behind a trusted proxy may have in flight.
    package var requestsOfOneAddress: Int { requestsPerAddress > 0 ? requestsPerAddress : max(1, connections / 4) }
}

/// How long a connection may take for what. All are absolute: a slow trickle of bytes does not extend them.
package struct HTTPDeadlines: Hashable, Sendable {
    /// From the connection to the end of the first request's header.
    package var headers: Duration = .seconds(5)
    /// From the end of a request's header to the end of its body.
    package var request: Duration = .seconds(15)
    /// From the end of a request to the end of its answer.
    package var answer: Duration = .seconds(60)
    /// From the end of an answer to the end of the next request's header.
    package var idle: Duration = .seconds(30)
}

/// How the gateway stops.
package struct ShutdownConfiguration: Hashable, Sendable {
    /// How long to go on serving after SIGTERM, so that load balancers notice.
    package var drainDelay: Duration = .seconds(5)
    /// How long requests in flight may still take once no more are accepted.
    package var grace: Duration = .seconds(20)
}

/// What is written to standard error.
package struct LogConfiguration: Hashable, Sendable {
    /// The least severe level that is written.
    package var level = Logger.Level.info
    /// Which requests get a line.
    package var requests = RequestLogging.all
    /// Which of them, where not all do.
    package var sampling = RequestSampling()
}

/// The cache in this process.
package struct NearCacheConfiguration: Hashable, Sendable {
    /// The most memory its entries may take.
    package var size = ByteCount.mebibytes(64)
}

/// How receipts are judged.
package struct VerificationConfiguration: Hashable, Sendable {
    /// How far in the future a receipt's creation date may lie.
    package var clockSkew: Duration = .seconds(300)
    /// How long after its end a signing certificate is still accepted.
    package var expiryGrace: Duration = .seconds(86_400)
}
