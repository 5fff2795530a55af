// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

extension Bench {
    /// From the beginning of a process to its first verdict.
    func measureStart() async throws {
        let request = repeated[0].prepared
        var times = Rates()
        // The first one reads the program from the disk.
        for run in 0...plan.runs {
            let milliseconds = try await coldStart(request)
            if run > 0 { times.append(milliseconds) }
            passed(1)
        }
        report.figures.append(
            BenchFigure("cold start to the first verified receipt", times.median, "ms", .atMost(100)))
    }

    private func coldStart(_ request: PreparedRequest) async throws -> Double {
        let ports = try await FreePort.find(2)
        let settings = [
            "GATEWAY_TRUST_ROOTS": root + "=Sandbox+Production", "GATEWAY_APPLE_ENABLED": "false",
            "GATEWAY_HTTP_PORT": "\(ports[0])", "GATEWAY_ADMIN_PORT": "\(ports[1])",
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s", "GATEWAY_SHUTDOWN_GRACE": "1s",
        ]
        let begin = ContinuousClock.now
        let program = try ChildProgram(
            gatewayPath, ["serve"], environment: settings, core: cores.server, reading: .standardError)
        return try await BareProgram(program: program).whileRunning { _ in
            try await Self.firstVerdict(port: ports[0], request, since: begin)
        }
    }

    /// Asks until somebody answers.
    private static func firstVerdict(
        port: Int, _ request: PreparedRequest, since begin: ContinuousClock.Instant
    ) async throws -> Double {
        while ContinuousClock.now - begin < .seconds(60) {
            try Task.checkCancellation()
            guard let connection = try? await HTTPConnection.open(port: port) else {
                try await Task.sleep(for: .milliseconds(1))
                continue
            }
            let result = await connection.result(of: request)
            let took = ContinuousClock.now - begin
            await connection.close()
            if case .success(let reply) = result, reply.status == 200,
                String(buffer: reply.body).contains(#""verdict":"genuine""#)
            {
                return took.seconds * 1000
            }
        }
        throw BenchError.noStart
    }

    private struct BareProgram: RunningProgram {
        let program: ChildProgram

        func stop() async {
            await program.stop()
        }
    }
}

extension PooledRequest {
    /// The same for a client that does not take octets.
    fileprivate var prepared: PreparedRequest {
        let receiptText = bytes.getString(at: receipt.lowerBound, length: receipt.count) ?? ""
        return .verify(receiptText, mode: .local)
    }
}
