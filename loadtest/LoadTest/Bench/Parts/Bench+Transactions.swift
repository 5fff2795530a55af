// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
