// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

extension Bench {
    /// What the most expensive bodies cost of those that are read on an event loop, where other connections wait.
    func measureBodies() async throws {
        try await startGateway().whileRunning { gateway in
            let contestant = Contestant(gateway)
            try await cores.useGenerators()
            var most = 0.0
            for body in ExpensiveBody.all {
                let milliseconds = try await milliseconds(of: body, at: contestant)
                report.measurements.append(.init("64 KiB of \(body.name), refused", milliseconds, "ms of CPU"))
                most = max(most, milliseconds)
                passed(1)
            }
            report.figures.append(
                BenchFigure("CPU for the most expensive body that an event loop reads", most, "ms", .atMost(1)))
        }
        try await cores.useAll()
    }

    private func milliseconds(of body: ExpensiveBody, at contestant: Contestant) async throws -> Double {
        let connection = try await HTTPConnection.open(port: contestant.port)
        let before = contestant.processes.cpuSeconds
        for _ in 0..<Self.requestsOfEachBody {
            guard case .success(let reply) = await connection.result(of: body.request), reply.status == 200 else {
                throw BenchError.failures("the gateway", count: 1, of: Self.requestsOfEachBody)
            }
        }
        let seconds = contestant.processes.cpuSeconds - before
        await connection.close()
        return seconds * 1000 / Double(Self.requestsOfEachBody)
    }

    private static let requestsOfEachBody = 500
}

/// A body that takes the most work for its bytes in one respect. It ends in a fault, so that no cache helps.
private struct ExpensiveBody {
    let name: String
    /// What is repeated between `start` and `end`.
    let unit: String
    var start = #"{"x":["#
    var end = ""

    /// As large as bodies may be that are read on an event loop.
    private static let bytes = 64 << 10

    static let all = [
        ExpensiveBody(name: "numbers", unit: "0,"), ExpensiveBody(name: "words", unit: "null,"),
        ExpensiveBody(name: "empty arrays", unit: "[],"), ExpensiveBody(name: "empty texts", unit: #""","#),
        ExpensiveBody(name: "members", unit: #""":0,"#, start: #"{"x":{"#),
        ExpensiveBody(name: "escapes", unit: #"\n"#, start: #"{"x":""#),
        ExpensiveBody(name: "letters beyond ASCII", unit: "é", start: #"{"x":""#),
        ExpensiveBody(name: "white space", unit: " ", start: "{"),
        ExpensiveBody(name: "base64 in escapes", unit: #"\/"#, start: #"{"receipt-data":""#, end: #"*"}"#),
        ExpensiveBody(name: "base64 between spaces", unit: "A ", start: #"{"receipt-data":""#, end: #"*"}"#),
    ]

    var request: PreparedRequest {
        let count = (Self.bytes - start.utf8.count - end.utf8.count) / unit.utf8.count
        let body = ByteBuffer(string: start + String(repeating: unit, count: count) + end)
        let headers: HTTPHeaders = [
            "Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": String(body.readableBytes),
        ]
        return PreparedRequest(
            head: HTTPRequestHead(version: .http1_1, method: .POST, uri: "/verifyReceipt", headers: headers),
            body: body)
    }
}
