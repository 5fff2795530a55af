// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures near-cache hits beside servers that verify nothing, all with the same requests and answers, and beside
    /// gateways that log fewer requests or none. Over few connections only the gateway and the bare handler.
    func measureNear() async throws {
        try await withGateway { gateway, group in
            let warm = try await turn(gateway, repeatedTraffic, seconds: plan.warmupSeconds)
            let upstream = try await group.add(peers.ceiling(answerBytes: warm.answerBytes, core: cores.generator))
            let behind = ProcessTree(root: upstream.program.processIdentifier)
            let others =
                try await quieterGateways(in: group)
                + servers(answerBytes: warm.answerBytes, upstream: upstream.port, in: group)
            for other in others { try await turn(other, repeatedTraffic, seconds: plan.warmupSeconds) }
            let few = ([gateway] + others).filter { [.gateway, .nio].contains($0.name) }
                .map { $0.over(BenchPlan.fewConnections) }
            let loads = ([gateway] + others + few).map { server in
                BenchLoad(
                    server: server, source: repeatedTraffic, outcome: server.name.isGateway ? .hitNear : nil)
            }
            let turns = try await takeTurns(loads) { load in
                // Restores what expired while other servers had their turn.
                try await self.turn(load.server, load.source, seconds: BenchPlan.refreshSeconds)
                let before = behind.cpuSeconds
                let turn = try await self.turn(load)
                guard behind.cpuSeconds - before <= Self.idleShare * plan.seconds else {
                    throw BenchError.notCached(load.server.name.rawValue)
                }
                return turn
            }.flatMap(\.self)
            report.servers += turns.rows
            add(turns)
        }
    }

    /// The share of its core that an idle upstream may use.
    private static let idleShare = 0.05

    private func quieterGateways(in group: ProgramGroup) async throws -> [BenchServer] {
        let (sampled, none) = (["GATEWAY_LOG_REQUESTS": "sampled"], ["GATEWAY_LOG_REQUESTS": "none"])
        return [
            BenchServer(try await group.add(startGateway(sampled)), as: .gatewaySampled),
            BenchServer(try await group.add(startGateway(none)), as: .gatewayUnlogged),
        ]
    }

    private func servers(answerBytes: Int, upstream: Int, in group: ProgramGroup) async throws -> [BenchServer] {
        [
            try await startBareHandler(answerBytes: answerBytes, in: group),
            BenchServer(.nginx, try await group.add(peers.nginx(upstream: upstream))),
            BenchServer(.varnish, try await group.add(peers.varnish(upstream: upstream))),
        ]
    }

    private func add(_ all: [BenchTurn]) {
        let hits = "near-cache hit, requests per busy core second"
        let turns = all.over(BenchPlan.manyConnections), few = all.over(BenchPlan.fewConnections)
        report.add("\(hits) / bare SwiftNIO handler", turns.ratio(.gateway, to: .nio), "ratio", .atLeast(0.9))
        report.add(
            "\(hits) / bare SwiftNIO handler, over \(BenchPlan.fewConnections) connections",
            few.ratio(.gateway, to: .nio), "ratio", .atLeast(0.9))
        report.add("\(hits) / nginx caching POST", turns.ratio(.gateway, to: .nginx), "ratio", .atLeast(4))
        report.add("\(hits) / Varnish with bodyaccess", turns.ratio(.gateway, to: .varnish), "ratio", .atLeast(4))
        report.add(
            "\(hits), log of all requests / no log", turns.ratio(.gateway, to: .gatewayUnlogged), "ratio",
            .atLeast(0.9))
        report.add("\(hits), log sampled / no log", turns.ratio(.gatewaySampled, to: .gatewayUnlogged), "ratio")
    }
}
