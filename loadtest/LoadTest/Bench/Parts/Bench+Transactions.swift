// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

extension Bench {
    /// Measures signed transactions over HTTP in requests that no cache knows. The requests have one transaction,
    /// twenty, or twenty known transactions and a new one, as a customer's history grows.
    func measureTransactions() async throws {
        let pki = TransactionPKI(seed: CorpusCommand.defaultSeed)
        let root = try peers.folder.write(pki.root.pem, to: "transaction-root.pem")
        var history = SplitMix64(seed: 1, purpose: "known transactions")
        let known = (0..<Self.historyCount).map { _ in pki.transaction(using: &history) }
        let loads: [(name: String, source: TrafficSource)] = [
            ("one signed transaction", .signed(pki, known: [], new: 1)),
            ("\(Self.historyCount) signed transactions", .signed(pki, known: [], new: Self.historyCount)),
            ("a new one after \(Self.historyCount) known ones", .signed(pki, known: known, new: 1)),
        ]
        try await withGateway(["GATEWAY_TRUST_ROOTS": root]) { gateway, _ in
            let turns = try await turns(loads.map(\.source), at: gateway)
            for ((name, _), turns) in zip(loads, turns) {
                for turn in turns { try check(turn, .local) }
                report.add("POST /v1/verify: \(name)", turns.map(\.requestsPerBusySecond).median, "per busy second")
            }
        }
    }

    private static let historyCount = 20

    /// Lets loads on one server take turns, after one run of each that does not count.
    /// - Returns: the turns of each load.
    func turns(_ sources: [TrafficSource], at server: BenchServer) async throws -> [[BenchTurn]] {
        var turns = sources.map { _ in [BenchTurn]() }
        var sent = 0
        for run in 0...plan.runs {
            for (position, source) in sources.enumerated() {
                let seconds = run == 0 ? plan.warmupSeconds : plan.seconds
                let turn = try await turn(server, source, seconds: seconds, before: sent)
                sent += turn.requests
                if run > 0 { turns[position].append(turn) }
            }
        }
        return turns
    }
}

extension Bench {
    /// Measures notifications over HTTP at a gateway that has no Redis and keeps them in its memory. All are new: each
    /// run has its own, which are made before it.
    func measureNotifications() async throws {
        let pki = TransactionPKI(seed: CorpusCommand.defaultSeed)
        let settings = [
            "GATEWAY_TRUST_ROOTS": try peers.folder.write(pki.root.pem, to: "notification-root.pem") + "=Production",
            "GATEWAY_NOTIFICATIONS_ALLOW_VOLATILE": "true",
        ]
        try await withGateway(settings) { gateway, _ in
            var rates = Rates()
            for run in 0...plan.runs {
                let turn = try await notifications(of: run, signedBy: pki, to: gateway)
                try check(turn, .ok)
                if run > 0 { rates.append(turn.requestsPerBusySecond) }
            }
            report.add("POST /apple/notifications: one notification", rates.median, "per busy second")
        }
    }

    /// Sends the notifications of a run, as fast as the server answers.
    private func notifications(
        of run: Int, signedBy pki: TransactionPKI, to server: BenchServer
    ) async throws -> BenchTurn {
        let form = RequestForm(
            target: try LoadTarget("http://127.0.0.1/apple/notifications"), mode: nil, fields: [],
            content: .notification)
        let factory = NotificationFactory(pki: pki, form: form, seed: UInt64(run))
        var pools = ReceiptPools(repeated: [])
        pools.notifications = await factory.requests(plan.notifications, until: .now)
        var load = try closedPlan(for: server.port, seconds: Self.longestRun)
        load.maximumRequests = plan.notifications
        let cpu = server.processes.cpuSeconds
        let measurements = try await drive(load, traffic(pools, .only(.notification)))
        passed(plan.estimatedNotificationSeconds)
        return BenchTurn(server, measurements, serverCPUSeconds: server.processes.cpuSeconds - cpu)
    }

    /// In seconds; the number of notifications ends a run.
    private static let longestRun = 600.0
}
