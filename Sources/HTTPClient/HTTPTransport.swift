// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Sends HTTPS requests. One thread runs libcurl for all of them; connections are kept and shared, with HTTP/2 also by
/// concurrent requests.
///
/// It follows no redirects, stores no cookies, and reads no environment variables. It verifies certificates, except of a
/// listener on this machine that is asked whether it is alive.
package final class HTTPTransport: Sendable {
    private let configuration: TransportConfiguration
    private let queue: CommandQueue
    private let thread: LoopThread
    private let slots: RequestSlots
    private let lastID = Atomic<UInt>(0)
    private let ended: Promise<Void>

    /// Starts the thread.
    /// - Throws: `.trustStore` if the CA file cannot be read, `.internal` if the system refuses a thread.
    package init(_ configuration: TransportConfiguration) throws(TransportError) {
        try Self.check(caFile: configuration.caFile)
        let events = try SocketEvents(connectTimeout: configuration.connectTimeout)
        let multi = try MultiHandle(configuration, events)
        let queue = CommandQueue(wakeUp: events.wakeUp)
        let ended = Promise<Void>()
        self.configuration = configuration
        self.queue = queue
        self.ended = ended
        slots = RequestSlots(maximum: configuration.maximumRequests)
        thread = try LoopThread {
            var loop = TransferLoop(queue: queue, multi: multi, configuration: configuration)
            loop.run()
            ended.fulfil(())
        }
    }

    deinit { queue.close() }

    /// The number of requests in flight, including requests cancelled a moment ago.
    package var requestsInFlight: Int { slots.takenCount }

    /// Sends a request and waits for its whole answer, of any status.
    /// - Parameter deadline: the time limit, at most `TransportConfiguration.totalTimeout` from now.
    /// - Throws: `.cancelled` when the task is cancelled, which ends the transfer.
    package func send(
        _ request: TransportRequest, deadline: ContinuousClock.Instant
    ) async throws(TransportError) -> TransportResponse {
        // A task cancelled earlier starts no request: the handler below would come too late to prevent it.
        guard !Task.isCancelled else { throw .cancelled }
        let pending = try admit(request, deadline: deadline)
        let (id, outcome) = (pending.id, pending.outcome)
        guard queue.start(pending) else { throw .shuttingDown }
        return try await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            outcome.fulfil(.failure(.cancelled))
            queue.abandon(id)
        }.get()
    }

    private func admit(
        _ request: TransportRequest, deadline: ContinuousClock.Instant
    ) throws(TransportError) -> PendingRequest {
        let checked = try CheckedRequest(request, under: configuration)
        let now = ContinuousClock.now
        guard now < deadline else { throw .timeout(.connecting) }
        guard let slot = slots.take() else { throw .tooManyRequests }
        return PendingRequest(
            id: lastID.add(1, ordering: .relaxed).newValue, request: checked,
            deadline: min(deadline, now + configuration.totalTimeout), slot: slot, outcome: Promise())
    }

    /// Rejects new requests with `.shuttingDown`, waits for requests in flight until their deadlines, and ends the
    /// thread. Cancellation does not shorten the wait.
    package func shutdown() async {
        queue.close()
        await ended.value
        thread.join()
    }
}

/// The settings and limits of requests.
package struct TransportConfiguration: Sendable {
    /// The limit for name resolution, TCP and TLS together.
    package var connectTimeout: Duration = .seconds(2)
    /// The limit for a request, whatever its deadline.
    package var totalTimeout: Duration = .seconds(10)
    package var maximumResponseBytes = 16 * 1024 * 1024
    /// The limit for all header fields of an answer, including interim answers and trailers.
    package var maximumHeaderBytes = 64 * 1024
    /// The limit for requests in flight; further requests are rejected at once. At most as many idle connections are
    /// kept, over all hosts.
    package var maximumRequests = 512
    /// The limit for connections to one host; further requests wait. HTTP/2 needs one connection, HTTP/1.1 a connection
    /// for each request.
    package var maximumConnectionsPerHost = 200
    /// True if a request waits for a connection that another request makes, and shares that connection if it has
    /// HTTP/2. libcurl has one queue for all waiting requests: requests to a hanging host can hold up requests to other
    /// hosts.
    package var sharesNewConnections = true
    /// The age after which a connection is not reused, so that DNS changes take effect. Whole seconds.
    package var maximumConnectionAge: Duration = .seconds(300)
    /// A PEM file of trusted authorities, instead of the system's.
    package var caFile: String?
    /// True for the health check of this machine's gateway alone, which sends and receives no secret: its certificate names
    /// another host, and one that has expired must not end the process.
    package var acceptsAnyCertificate = false
    /// The URL of the proxy, `http://host:port`; nil for none, whatever the environment. The proxy resolves names, and
    /// its address is the operator's choice: `allowsPrivateAddresses` does not apply.
    package var proxy: String?
    /// True if URLs may be `http`: for upstreams on this machine and for tests.
    package var allowsPlainHTTP = false
    /// True if upstreams may have addresses that are not globally reachable (loopback, RFC 1918, link-local, ...). The
    /// check applies to the connected address, so no DNS answer can point inside.
    package var allowsPrivateAddresses = false
    package var userAgent = "receipt-gateway"
    /// Addresses in place of the resolver's, each `host:port:address,address`: for tests.
    package var addresses: [String] = []

    package init() {}
}
