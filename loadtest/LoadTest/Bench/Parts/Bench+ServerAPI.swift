// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

extension Bench {
    /// Measures the processor time of a gateway for a call of the App Store Server API: its token, the exchange, the
    /// verification of what is signed in the answer (three items on average), and its half of the client's request and of
    /// the stored result. Each customer is looked up once, by a transaction ID.
    func measureServerAPI() async throws {
        try await eachRun { _ in
            try await RunningFleet.start(FleetShape(hasServerAPI: true), gatewayPath: gatewayPath).whileRunning {
                fleet in
                let source = customerTraffic(await fleet.authorization)
                let gateway = await fleet.servers[0].over(Self.connections)
                try check(try await turn(gateway, source, requests: Self.warmupCustomers), .upstream, share: 0.95)
                let before = await fleet.questions
                let turn = try await turn(gateway, source, requests: Self.measuredCustomers)
                try check(turn, .upstream, share: 0.95)
                let count = Double(max(1, await fleet.questions - before))
                return [
                    .init(
                        "CPU of a gateway for a call of the App Store Server API", 1e6 * turn.serverCPUSeconds / count,
                        "us", .atMost(300)),
                    .init(
                        "calls of the App Store Server API for a new customer",
                        count / Double(max(1, turn.requests)), ""),
                ]
            }
        }
    }

    private static let warmupCustomers = 100
    /// Both together stay within the share of the budget that is for transaction IDs, without waiting for more.
    private static let measuredCustomers = 400

    private func customerTraffic(_ fields: [HeaderField]) -> TrafficSource {
        let form = RequestForm(
            target: .loopback(80), mode: nil, fields: fields,
            content: .transactionID(ofApp: SimulatedCustomers.bundleID))
        // Some more: a later load leaves out a few.
        let count = (Self.warmupCustomers + Self.measuredCustomers) * 11 / 10
        let customers = SimulatedCustomers(count, at: .now)
        let pool = (0..<count).map { PooledRequest(customers.transactionID($0), form) }
        return .only(.fresh, ReceiptPools(fresh: pool))
    }

    /// The connections of the load: a gateway that is woken for each step of a single call uses twice the time.
    private static let connections = 16
}
