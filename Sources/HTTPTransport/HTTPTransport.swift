// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Sends HTTPS requests. One thread runs libcurl for all of them; connections are kept and shared, with HTTP/2 also by
/// concurrent requests.
///
/// It follows no redirects, stores no cookies, reads no environment variables, and always verifies certificates.
public final class HTTPTransport: Sendable {
    private let configuration: TransportConfiguration
    private let mailbox: Mailbox
    private let thread: LoopThread
    private let slots: RequestSlots
    private let lastID = Atomic<UInt>(0)
    private let ended: Promise<Void>

    /// Starts the thread.
    /// - Throws: `.trustStore` if the CA file cannot be read, `.internal` if the system refuses a thread.
    public init(_ configuration: TransportConfiguration) throws(TransportError) {
        try CABundle.check(configuration.caFile)
        let multi = try MultiHandle(configuration)
        let mailbox = Mailbox(wakeUp: multi.wakeUp)
        let ended = Promise<Void>()
        self.configuration = configuration
        self.mailbox = mailbox
        self.ended = ended
        slots = RequestSlots(maximum: configuration.maximumRequests)
        thread = try LoopThread {
            var loop = TransferLoop(mailbox: mailbox, multi: multi, configuration: configuration)
            loop.run()
            ended.keep(())
        }
    }

    deinit {
        mailbox.close()
    }

    /// The number of requests in flight, including those cancelled a moment ago.
    public var requestsInFlight: Int { slots.takenCount }

    /// Sends a request and waits for its whole answer, of any status.
    /// - Parameter deadline: the time limit, at most `TransportConfiguration.totalTimeout` from now.
    /// - Throws: `.cancelled` when the task is cancelled, which ends the transfer.
    public func send(
        _ request: TransportRequest, deadline: ContinuousClock.Instant
    ) async throws(TransportError) -> TransportResponse {
        // A task cancelled earlier starts no request: the handler below would come too late to prevent it.
        guard !Task.isCancelled else { throw .cancelled }
        let assignment = try admit(request, deadline: deadline)
        let (id, outcome) = (assignment.id, assignment.outcome)
        guard mailbox.start(assignment) else { throw .shuttingDown }
        return try await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            outcome.keep(.failure(.cancelled))
            mailbox.abandon(id)
        }.get()
    }

    private func admit(
        _ request: TransportRequest, deadline: ContinuousClock.Instant
    ) throws(TransportError) -> Assignment {
        let checked = try CheckedRequest(request, under: configuration)
        let now = ContinuousClock.now
        guard now < deadline else { throw .timeout(.connecting) }
        guard let slot = slots.take() else { throw .tooManyRequests }
        return Assignment(
            id: lastID.add(1, ordering: .relaxed).newValue, request: checked,
            deadline: min(deadline, now + configuration.totalTimeout), slot: slot, outcome: Promise())
    }

    /// Rejects new requests with `.shuttingDown`, waits for those in flight until their deadlines, and ends the thread.
    /// Cancellation does not shorten the wait.
    public func shutdown() async {
        mailbox.close()
        await ended.value
        thread.join()
    }
}
