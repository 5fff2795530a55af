// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures the most expensive of the bodies that are read on an event loop, where other connections wait.
    func measureBodies() async throws {
        try await withGateway { server, _ in
            var most = 0.0
            for body in ExpensiveBody.all {
                let target = LoadTarget.loopback(server.port, "/verifyReceipt")
                let request = RequestForm.request("POST", target, [], body: body.bytes)
                let turn = try await turn(server.over(1), .inTurn([request]), requests: Self.requestsOfEachBody)
                try check(turn, .rejected, share: 1)
                let milliseconds = 1000 / turn.requestsPerBusySecond
                report.add("64 KiB of \(body.name), refused", milliseconds, "ms of CPU")
                most = max(most, milliseconds)
            }
            report.add("CPU for the most expensive body that an event loop reads", most, "ms", .atMost(1))
        }
    }

    private static let requestsOfEachBody = 500
}

/// A body that takes the most work for its bytes in one respect. It ends in a fault, so that no cache helps.
private struct ExpensiveBody {
    let name: String
    /// The repeated part between `start` and `end`.
    let unit: String
    var start = #"{"x":["#
    var end = ""

    /// The largest body that is read on an event loop.
    private static let maximumBytes = 64 << 10

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

    var bytes: [UInt8] {
        let count = (Self.maximumBytes - start.utf8.count - end.utf8.count) / unit.utf8.count
        return Array((start + String(repeating: unit, count: count) + end).utf8)
    }
}
