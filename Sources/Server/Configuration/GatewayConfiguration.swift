// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// Everything an operator can set, with the values that hold where nothing is set.
///
/// Plain values: nothing here reads an environment or a file. `ConfigurationKeys` gives each one its name.
struct GatewayConfiguration: Hashable, Sendable {
    /// The data plane: where clients ask.
    var http = HTTPConfiguration()
    /// The admin plane: where the orchestrator asks.
    var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    /// Host names that requests to the admin plane may carry.
    var adminHostNames = HostNames()
    /// How the gateway stops.
    var shutdown = ShutdownConfiguration()
    /// Certificates trusted beside Apple's roots.
    var trustRoots: [TrustRoot] = []
    /// The YAML file with the clients and their API keys; nil admits loopback callers only.
    var clientsFile: String?
    /// The key under which API secrets are hashed.
    var apiKeyPepper: Secret?
    /// What is written to standard error.
    var log = LogConfiguration()
    /// The cache in this process.
    var nearCache = NearCacheConfiguration()
    /// What everything in the shared store is named and sealed with: `StoreKeys`.
    var cacheKeys: Secret?
    /// How receipts are judged.
    var verification = VerificationConfiguration()
    /// How Apple is asked.
    var apple = AppleConfiguration()
    /// The store that all nodes share.
    var redis = RedisConfiguration()
    /// What callers of `POST /verifyReceipt` get when nothing can be said about a receipt.
    var undecidedReply = UndecidedReply.apple
}

/// An address to listen on.
struct ListenerConfiguration: Hashable, Sendable {
    /// A host name or IP address.
    var host: String
    /// A TCP port; 0 lets the system choose.
    var port: Int
}

/// The data plane.
struct HTTPConfiguration: Hashable, Sendable {
    /// Where it listens.
    var listener = ListenerConfiguration(host: "127.0.0.1", port: 8080)
    /// Host names that requests may carry where there is no clients file.
    var hostNames = HostNames()
    /// What a request may weigh.
    var limits = HTTPLimits()
    /// How long a connection may take for what.
    var deadlines = HTTPDeadlines()
    /// Where requests come from.
    var remoteAddresses = RemoteAddressRule()
    /// Whether answers of limited clients carry `X-RateLimit-*` beside `RateLimit`.
    var sendsLegacyRateLimitFields = false
}

/// What requests may weigh, alone and together.
struct HTTPLimits: Hashable, Sendable {
    /// The target of a request: path and query.
    var target = ByteCount.kibibytes(8)
    /// Name and value of one header field.
    var headerField = ByteCount.kibibytes(8)
    /// All header fields of a request together.
    var headerList = ByteCount.kibibytes(16)
    /// Header fields in a request.
    var headerFieldCount = 64
    /// One request body. A receipt of 5 MB is on record; base64 makes it 7.
    var body = ByteCount.mebibytes(12)
    /// All request bodies in memory at one time.
    var bodiesInFlight = ByteCount.mebibytes(256)
    /// Connections open at one time; more wait in the kernel's queue.
    var connections = 4096
    /// Connections of one address; 0 is a quarter of all.
    var connectionsPerAddress = 0
    /// Requests in flight of one address that a trusted proxy names; 0 is a quarter of `connections`.
    var requestsPerAddress = 0
}

extension HTTPLimits {
    /// The connections that one address may hold.
    var connectionsOfOneAddress: Int { connectionsPerAddress > 0 ? connectionsPerAddress : max(1, connections / 4) }

    /// The requests that one address behind a trusted proxy may have in flight.
    var requestsOfOneAddress: Int { requestsPerAddress > 0 ? requestsPerAddress : max(1, connections / 4) }
}

/// How long a connection may take for what. All are absolute: a slow trickle of bytes does not extend them.
struct HTTPDeadlines: Hashable, Sendable {
    /// From the connection to the end of the first request's header.
    var headers: Duration = .seconds(5)
    /// From the end of a request's header to the end of its body.
    var request: Duration = .seconds(15)
    /// From the end of a request to the end of its answer.
    var answer: Duration = .seconds(60)
    /// From the end of an answer to the end of the next request's header.
    var idle: Duration = .seconds(30)
}

/// How the gateway stops.
struct ShutdownConfiguration: Hashable, Sendable {
    /// How long to go on serving after SIGTERM, so that load balancers notice.
    var drainDelay: Duration = .seconds(5)
    /// How long requests in flight may still take once no more are accepted.
    var grace: Duration = .seconds(20)
}

/// What is written to standard error.
struct LogConfiguration: Hashable, Sendable {
    /// The least severe level that is written.
    var level = Logger.Level.info
    /// Which requests get a line.
    var requests = RequestLogging.all
    /// Which of them, where not all do.
    var sampling = RequestSampling()
}

/// The cache in this process.
struct NearCacheConfiguration: Hashable, Sendable {
    /// The most memory its entries may take.
    var size = ByteCount.mebibytes(64)
}

/// How receipts are judged.
struct VerificationConfiguration: Hashable, Sendable {
    /// How far in the future a receipt's creation date may lie.
    var clockSkew: Duration = .seconds(300)
    /// How long after its end a signing certificate is still accepted.
    var expiryGrace: Duration = .seconds(86_400)
}
