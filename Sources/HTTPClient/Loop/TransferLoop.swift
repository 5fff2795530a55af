// SPDX-License-Identifier: Apache-2.0

/// Runs the commands of a queue until the end, on the one thread that calls libcurl.
struct TransferLoop {
    let queue: CommandQueue
    let multi: MultiHandle
    let configuration: TransportConfiguration
    private(set) var transfers: [PendingRequest.ID: (request: PendingRequest, handle: EasyHandle)] = [:]
    private(set) var isFinishing = false
    /// No transfer in flight has an earlier deadline.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    /// Runs until all transfers are finished; blocks its thread.
    mutating func run() {
        while true {
            for command in queue.takeAll() { execute(command) }
            if isFinishing && transfers.isEmpty { return }
            advance()
            endOverdue(at: .now)
        }
    }

    /// A safeguard: with nothing in flight, only a wake-up ends the wait.
    private static let longestWait = Duration.seconds(60)

    private mutating func execute(_ command: LoopCommand) {
        switch command {
        case .start(let request): start(request)
        case .abandon(let id): end(id, with: .failure(.cancelled))
        case .finish: isFinishing = true
        }
    }

    private mutating func start(_ request: PendingRequest) {
        // Cancelled before it began: the command to cancel it may come before or after, and finds nothing.
        guard !request.outcome.isFulfilled else { return }
        do throws(TransportError) {
            let handle = try EasyHandle(for: request, configuration, multi.events)
            try multi.add(handle)
            transfers[request.id] = (request, handle)
            earliestDeadline = min(earliestDeadline ?? request.deadline, request.deadline)
        } catch {
            request.outcome.fulfil(.failure(error))
        }
    }

    private mutating func advance() {
        let wait = earliestDeadline.map { $0 - .now } ?? Self.longestWait
        if let failure = multi.perform(waitingAtMost: wait) {
            // Out of memory, or worse: no transfer in flight can continue.
            for id in transfers.keys { end(id, with: .failure(failure)) }
        }
        while let (id, code) = multi.nextFinished() {
            guard let transfer = transfers[id] else { continue }
            end(id, with: transfer.handle.outcome(code))
        }
    }

    /// Ends overdue transfers. libcurl 7.88 misses its timeout while a transfer waits for a connection (curl#13227).
    private mutating func endOverdue(at now: ContinuousClock.Instant) {
        // Rarely true: an answer ends its transfer long before.
        guard let earliest = earliestDeadline, earliest <= now else { return }
        for (id, transfer) in transfers where transfer.request.deadline <= now {
            end(id, with: .failure(.timeout(transfer.handle.wasConnected ? .answering : .connecting)))
        }
        earliestDeadline = transfers.values.lazy.map(\.request.deadline).min()
    }

    private mutating func end(_ id: PendingRequest.ID, with outcome: Result<TransportResponse, TransportError>) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        multi.remove(transfer.handle)
        transfer.request.outcome.fulfil(outcome)
    }
}
