// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Runs the commands of a mailbox until the end, on the one thread that calls libcurl.
struct TransferLoop {
    private let mailbox: Mailbox
    private let multi: MultiHandle
    private let configuration: TransportConfiguration
    private var transfers: [Assignment.ID: Transfer] = [:]
    private var isFinishing = false

    init(mailbox: Mailbox, multi: MultiHandle, configuration: TransportConfiguration) {
        self.mailbox = mailbox
        self.multi = multi
        self.configuration = configuration
    }

    /// Runs until all transfers are finished; blocks its thread.
    mutating func run() {
        let clock = ContinuousClock()
        while !(isFinishing && transfers.isEmpty) {
            multi.wait(atMost: transfers.values.lazy.map(\.deadline).min().map { $0 - clock.now } ?? Self.longestWait)
            for order in mailbox.takeAll() { obey(order, at: clock.now) }
            advance()
            endOverdue(at: clock.now)
        }
    }

    /// A safeguard: with nothing in flight, only a wake-up ends the wait.
    private static let longestWait = Duration.seconds(60)

    private mutating func obey(_ order: Order, at now: ContinuousClock.Instant) {
        switch order {
        case .start(let assignment): start(assignment, at: now)
        case .abandon(let id): end(id, with: .failure(.cancelled))
        case .finish: isFinishing = true
        }
    }

    private mutating func start(_ assignment: Assignment, at now: ContinuousClock.Instant) {
        // Cancelled before it began: the command to cancel it may come before or after, and finds nothing.
        guard !assignment.outcome.isKept else { return }
        do throws(TransportError) {
            let transfer = try Transfer(assignment, configuration)
            try multi.add(transfer.handle)
            transfers[assignment.id] = transfer
        } catch {
            assignment.outcome.keep(.failure(error))
        }
    }

    private mutating func advance() {
        if let failure = multi.perform() {
            // Out of memory, or worse: no transfer in flight can continue.
            for id in transfers.keys { end(id, with: .failure(failure)) }
        }
        while let (id, code) = multi.nextFinished() {
            guard let transfer = transfers[id] else { continue }
            end(id, with: transfer.outcome(code))
        }
    }

    /// Ends overdue transfers. libcurl 7.88 misses its timeout while a transfer waits for a connection (curl#13227).
    private mutating func endOverdue(at now: ContinuousClock.Instant) {
        for (id, transfer) in transfers where transfer.deadline <= now {
            end(id, with: .failure(.timeout(transfer.handle.wasConnected ? .answering : .connecting)))
        }
    }

    private mutating func end(_ id: Assignment.ID, with outcome: Result<TransportResponse, TransportError>) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        multi.remove(transfer.handle)
        transfer.promise.keep(outcome)
    }
}

private struct Transfer {
    let deadline: ContinuousClock.Instant
    let handle: EasyHandle
    let promise: Promise<Result<TransportResponse, TransportError>>

    init(_ assignment: Assignment, _ configuration: TransportConfiguration) throws(TransportError) {
        deadline = assignment.deadline
        promise = assignment.outcome
        handle = try EasyHandle(for: assignment, configuration)
    }

    func outcome(_ code: CurlCode) -> Result<TransportResponse, TransportError> {
        if let error = handle.error(code) { return .failure(error) }
        return .success(handle.response)
    }
}
