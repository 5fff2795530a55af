// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Makes HTTPS requests. One thread runs libcurl for all of them; connections are kept and shared, and HTTP/2 carries
/// many requests on one.
///
/// No redirect is followed, no cookie kept, nothing read from the environment, and certificates are always checked.
public final class HTTPTransport: Sendable {
    private let configuration: TransportConfiguration
    private let mailbox: Mailbox
    private let thread: LoopThread
    private let slots: RequestSlots
    private let lastID = Atomic<UInt>(0)
    private let ended: Promise<Void>

    /// Starts the thread.
    ///
    /// - Throws: `.trustStore` if the file of authorities cannot be read, `.internal` if the system refuses a thread.
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

    /// Requests in flight, those included that were given up a moment ago.
    public var requestsInFlight: Int { slots.takenCount }

    /// Sends a request and waits for its whole answer, whatever its status.
    ///
    /// - Parameter deadline: when to give up; `TransportConfiguration.totalTimeout` from now at the latest.
    /// - Throws: `.cancelled` when the task is cancelled, which ends the transfer.
    public func send(
        _ request: TransportRequest, deadline: ContinuousClock.Instant
    ) async throws(TransportError) -> TransportResponse {
        // What was called off before it began is not begun: the handler below would come too late to stop it.
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

    /// Refuses new requests with `.shuttingDown`, waits for those in flight, each at most until its deadline, and ends
    /// the thread. Cancellation does not shorten the wait.
    public func shutdown() async {
        mailbox.close()
        await ended.value
        thread.join()
    }
}
