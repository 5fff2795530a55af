// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures near-cache hits beside servers that verify nothing, all with the same requests and answers, and beside
    /// gateways that log fewer requests or none. Over few connections only the gateway and the bare handler.
    func measureNear() async throws {
        try await withGateway { gateway, group in
            let warm = try await turn(gateway, repeatedTraffic, seconds: plan.warmupSeconds)
            let upstream = try await group.add(peers.ceiling(answerBytes: warm.answerBytes, core: cores.generator))
            let bare = try await startBareHandler(answerBytes: warm.answerBytes, in: group)
            let others = [
                try await startGateway(["GATEWAY_LOG_REQUESTS": "sampled"], as: .gatewaySampled, in: group),
                try await startGateway(["GATEWAY_LOG_REQUESTS": "none"], as: .gatewayUnlogged, in: group), bare,
                BenchServer(.nginx, try await group.add(peers.nginx(upstream: upstream.port))),
                BenchServer(.varnish, try await group.add(peers.varnish(upstream: upstream.port))),
            ]
            for other in others { try await turn(other, repeatedTraffic, seconds: plan.warmupSeconds) }
            let few = [gateway, bare].map { $0.over(BenchPlan.fewConnections) }
            let loads = ([gateway] + others + few).map { server in
                BenchLoad(
                    server: server, source: repeatedTraffic, outcome: server.name.isGateway ? .hitNear : nil)
            }
            var all: [BenchTurn] = []
            try await eachRun { run in
                let turns = try await turns(of: loads, in: run) { load in
                    try await measureHits(load, before: ProcessTree(root: upstream.program.processIdentifier))
                }
                all += turns
                return Self.figures(of: turns)
            }
            report.servers += all.rows
        }
    }

    /// Measures hits; throws if they were not, and the upstream had to answer.
    private func measureHits(_ load: BenchLoad, before upstream: ProcessTree) async throws -> BenchTurn {
        // Restores what expired while other servers had their turn.
        try await turn(load.server, load.source, seconds: BenchPlan.refreshSeconds)
        let before = upstream.cpuSeconds
        let turn = try await turn(load)
        guard upstream.cpuSeconds - before <= Self.idleShare * plan.seconds else {
            throw BenchError.notCached(load.server.name.rawValue)
        }
        return turn
    }

    private static let idleShare = 0.05

    private static func figures(of turns: [BenchTurn]) -> [FigureSample] {
        func ratio(
            _ name: String, _ server: BenchServer.Name = .gateway, to other: BenchServer.Name,
            over connections: Int = BenchPlan.manyConnections, _ target: FigureTarget? = nil
        ) -> FigureSample {
            .init(
                "near-cache hit, requests per busy core second\(name)",
                turns.ratio(server, to: other, over: connections), "ratio", target)
        }
        let few = BenchPlan.fewConnections
        return [
            ratio(" / bare SwiftNIO handler", to: .nio, .atLeast(0.9)),
            ratio(" / bare SwiftNIO handler, over \(few) connections", to: .nio, over: few, .atLeast(0.9)),
            ratio(" / nginx caching POST", to: .nginx, .atLeast(4)),
            ratio(" / Varnish with bodyaccess", to: .varnish, .atLeast(4)),
            ratio(", log of all requests / no log", to: .gatewayUnlogged, .atLeast(0.9)),
            ratio(", log sampled / no log", .gatewaySampled, to: .gatewayUnlogged),
        ]
    }
}
