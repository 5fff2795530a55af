// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

extension Bench {
    /// Measures signed transactions over HTTP in requests that no cache knows. The requests have one transaction,
    /// twenty, or twenty known transactions and a new one, as a customer's history grows. One transaction is measured
    /// beside the ceiling and the cryptography together, as a receipt is.
    func measureTransactions() async throws {
        let pki = TransactionPKI(seed: CorpusCommand.defaultSeed)
        let root = try peers.folder.write(pki.root.pem, to: "transaction-root.pem")
        var history = SplitMix64(seed: 1, purpose: "known transactions")
        let known = (0..<Self.historyCount).map { _ in pki.transaction(using: &history) }
        let count = Self.historyCount
        let sources: [(name: String, source: TrafficSource)] = [
            ("one signed transaction", .signed(pki, known: [], new: 1)),
            ("\(count) signed transactions", .signed(pki, known: [], new: count)),
            ("a new one after \(count) known ones", .signed(pki, known: known, new: 1)),
        ]
        let floor = try floor(of: .transactions(pki))
        try await withGateway(["GATEWAY_TRUST_ROOTS": root]) { gateway, group in
            let warm = try await turn(gateway, sources[0].source, seconds: plan.warmupSeconds)
            let nio = try await startBareHandler(answerBytes: warm.answerBytes, in: group)
            let loads =
                [BenchLoad(server: nio, source: sources[0].source)]
                + sources.map { BenchLoad(server: gateway, source: $0.source, outcome: .local) }
            for load in loads { try await turn(load.server, load.source, seconds: plan.warmupSeconds) }
            try await eachRun { run in
                let floor = try floor.receiptsPerSecond(of: .floor)
                let turns = try await turns(of: loads, in: run) { try await turn($0) }
                let share = Self.share(of: turns[1], beside: turns[0], floor: floor)
                let name = "POST /v1/verify"
                return zip(sources, turns.dropFirst()).map { source, turn in
                    FigureSample("\(name): \(source.name)", turn.requestsPerBusySecond, "per busy second")
                } + [
                    .init(
                        "\(name): \(sources[0].name) / (1 / (1/ceiling + P-256 floor))", share, "ratio",
                        .atLeast(0.75)),
                    .init("P-256 floor of the same transactions", floor, "/s"),
                ]
            }
        }
    }

    private static let historyCount = 20

    /// Measures notifications over HTTP at a gateway that has no Redis and keeps them in its memory. All are new: each
    /// run has its own, which are made before it.
    func measureNotifications() async throws {
        let pki = TransactionPKI(seed: CorpusCommand.defaultSeed)
        let settings = [
            "GATEWAY_TRUST_ROOTS": try peers.folder.write(pki.root.pem, to: "notification-root.pem") + "=Production",
            "GATEWAY_NOTIFICATIONS_ALLOW_VOLATILE": "true",
        ]
        try await withGateway(settings) { gateway, _ in
            // The first notifications warm the gateway up.
            try await sendNotifications(to: gateway, signedBy: pki, seed: 0)
            try await eachRun { run in
                let turn = try await sendNotifications(to: gateway, signedBy: pki, seed: UInt64(run) + 1)
                return [
                    .init("POST /apple/notifications: one notification", turn.requestsPerBusySecond, "per busy second")
                ]
            }
        }
    }

    @discardableResult
    private func sendNotifications(
        to gateway: BenchServer, signedBy pki: TransactionPKI, seed: UInt64
    ) async throws -> BenchTurn {
        let form = RequestForm(target: .loopback(80), mode: nil, fields: [], content: .notification)
        let factory = NotificationFactory(pki: pki, form: form, seed: seed)
        let notifications = await factory.requests(plan.notifications, until: .now)
        let source = TrafficSource.only(.notification, ReceiptPools(notifications: notifications))
        let turn = try await turn(gateway, source, requests: plan.notifications)
        try check(turn, .ok)
        return turn
    }
}
