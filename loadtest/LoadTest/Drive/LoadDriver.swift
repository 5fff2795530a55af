// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Sends requests over a bounded number of connections, each of which waits for its answer before the next request.
struct LoadDriver: Sendable {
    /// Where the server listens, on 127.0.0.1.
    let port: Int
    /// The most requests under way at one time.
    let connections: Int
    let limits = DriveLimits()

    /// What became of one request.
    struct Outcome: Sendable {
        /// From the moment it was due.
        let latency: Duration
        let reply: Result<Reply, DriveError>
    }

    /// Works off a schedule, or ends early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - request: what to send in the turn of this number.
    ///   - record: told each outcome, from several threads.
    func run(
        _ schedule: Schedule, request: @escaping @Sendable (_ turn: Int) -> PreparedRequest,
        record: @escaping @Sendable (Outcome) -> Void
    ) async {
        await withTaskGroup { group in
            for _ in 0..<min(connections, limits.maximumConnections) {
                group.addTask { await work(schedule, request, record) }
            }
        }
    }

    @concurrent private func work(
        _ schedule: Schedule, _ request: @Sendable (Int) -> PreparedRequest, _ record: @Sendable (Outcome) -> Void
    ) async {
        let clock = ContinuousClock()
        var connection: HTTPConnection?
        var failures = 0
        while failures < limits.maximumFailuresInARow, !Task.isCancelled, let turn = schedule.next(at: clock.now) {
            if clock.now < turn.due { try? await clock.sleep(until: turn.due) }
            let reply = await ask(request(turn.number), over: &connection)
            // A request that was called back says nothing of the server.
            if Task.isCancelled { break }
            if case .failure = reply { failures += 1 } else { failures = 0 }
            record(Outcome(latency: clock.now - turn.due, reply: reply))
        }
        await connection?.close()
    }

    private func ask(
        _ request: PreparedRequest, over connection: inout HTTPConnection?
    ) async -> Result<Reply, DriveError> {
        do throws(DriveError) {
            let open =
                if let connection, connection.isOpen { connection } else {
                    try await HTTPConnection.open(port: port, limits: limits)
                }
            connection = open
            return .success(try await open.ask(request))
        } catch {
            return .failure(error)
        }
    }
}
