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
        let count = Self.historyCount
        let loads = [
            ("one signed transaction", [], 1), ("\(count) signed transactions", [], count),
            ("a new one after \(count) known ones", known, 1),
        ].map { name, known, new in
            BenchLoad(name: "POST /v1/verify: \(name)", source: .signed(pki, known: known, new: new), outcome: .local)
        }
        try await withGateway(["GATEWAY_TRUST_ROOTS": root]) { gateway, _ in try await measure(loads, at: gateway) }
    }

    private static let historyCount = 20
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
        return BenchTurn(server, measurements, serverCPUSeconds: server.processes.cpuSeconds - cpu)
    }

    /// In seconds; the number of notifications ends a run.
    private static let longestRun = 600.0
}
