// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A gateway process on ports chosen by the system.
final class RunningGateway: Sendable {
    let dataPort: Int
    let adminPort: Int
    /// Standard error: one JSON object on each line.
    let log = Pipe()
    /// The lines read from `log`.
    let transcript = Transcript(of: "gateway")
    private let process: Process
    private let exit: Task<Int32, Never>

    /// Starts a gateway and waits until both its listeners are open. Its log is read after that only with `readsOn`.
    /// - Parameter file: the configuration file.
    init(
        _ environment: [String: String] = [:], configuredBy file: String? = nil, readsOn: Bool = true
    ) async throws {
        let usual = [
            "GATEWAY_HTTP_PORT": "0", "GATEWAY_ADMIN_PORT": "0", "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            // The tests' own clients may be late.
            "GATEWAY_HTTP_DEADLINES_HEADERS": "60s", "GATEWAY_HTTP_DEADLINES_REQUEST": "60s",
            // Crowds use one address.
            "GATEWAY_HTTP_LIMITS_CONNECTIONS_PER_ADDRESS": "4096",
            // Tests use this machine only: a test that needs Apple sets the URL of a simulator.
            "GATEWAY_APPLE_ENABLED": environment["GATEWAY_APPLE_PRODUCTION_URL"] == nil ? "false" : "true",
        ]
        let arguments = ["serve"] + (file.map { ["--config", $0] } ?? [])
        process = Program.gateway.prepared(arguments, usual.merging(environment) { $1 })
        process.standardError = log
        exit = process.exitStatus
        try process.run()
        var open: [String: Int] = [:]
        var lines: [String] = []
        for await line in readsOn ? log.lines(keptIn: transcript) : log.linesOnDemand {
            lines.append(line)
            guard let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let plane = event["plane"] as? String, let port = event["port"] as? Int
            else { continue }
            open[plane] = port
            if open.count == 2 { break }
        }
        dataPort = try #require(open["data"], "the gateway did not start: \(lines.joined(separator: "\n"))")
        adminPort = try #require(open["admin"])
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// Stops the gateway (SIGTERM) if it runs, and returns its exit status.
    func stop() async -> Int32 {
        if process.isRunning { process.terminate() }
        return await exit.value
    }

    /// Kills the gateway like a crash (SIGKILL), and waits until it has ended.
    func kill() async {
        Foundation.kill(process.processIdentifier, SIGKILL)
        _ = await exit.value
    }

    /// Returns the memory of the process in bytes: `VmRSS` now, `VmHWM` the maximum so far (proc_pid_status(5)).
    func memory(_ field: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(field + ":") })
        return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }) << 10
    }

    /// The variables in the environment of the program, as it began.
    var environment: [String] {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/environ", encoding: .utf8)
            return text.split(separator: "\0").map(String.init)
        }
    }

    /// Sets the soft limit of the process's file descriptors (prlimit(1)).
    func limitFileDescriptors(to count: Int) throws {
        let prlimit = Process()
        prlimit.executableURL = URL(filePath: "/usr/bin/prlimit")
        prlimit.arguments = ["--pid", "\(process.processIdentifier)", "--nofile=\(count):"]
        try prlimit.run()
        prlimit.waitUntilExit()
        try #require(prlimit.terminationStatus == 0)
    }

    /// Makes the gateway reread its configuration (SIGHUP).
    func hangUp() {
        Foundation.kill(process.processIdentifier, SIGHUP)
    }

    /// Requests the verdict on a base64 text.
    func verify(_ receipt: String, _ more: [String: Any] = [:], key: String? = nil) async throws -> HTTPAnswer {
        try await post(["receipt": receipt].merging(more) { $1 }, key: key)
    }

    /// Sends a request in Apple's form.
    func verifyReceipt(_ body: [String: Any]) async throws -> HTTPAnswer {
        try await post(body, to: "/verifyReceipt")
    }

    func post(
        _ body: [String: Any], to path: String = "/v1/verify", key: String? = nil, fields: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        try await post(Data(json: body), to: path, key: key, fields: fields)
    }

    func post(
        _ body: Data, to path: String = "/v1/verify", contentType: String = "application/json", key: String? = nil,
        fields: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        let type = ["Content-Type": contentType]
        return try await call("POST", dataPort, path, key, type.merging(fields) { $1 }, body)
    }

    func get(_ path: String, port: Int, method: String = "GET", key: String? = nil) async throws -> HTTPAnswer {
        try await call(method, port, path, key)
    }

    private func call(
        _ method: String, _ port: Int, _ path: String, _ key: String?, _ fields: [String: String] = [:],
        _ body: Data? = nil
    ) async throws -> HTTPAnswer {
        let authorization = key.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        return try await HTTPCall(
            method: method, port: port, path: path, fields: fields.merging(authorization) { $1 }, body: body
        ).answer()
    }

    /// Purges the cached results of a transaction.
    func purge(_ transactionID: String, key: String? = nil) async throws -> HTTPAnswer {
        try await get("/v1/cache/transactions/\(transactionID)", port: dataPort, method: "DELETE", key: key)
    }
}

extension RunningGateway {
    /// Starts a gateway without Apple that trusts the root of a new corpus, and returns it with a genuine receipt.
    static func withSample(in folder: ScratchFolder? = nil) async throws -> (RunningGateway, sample: String) {
        let folder = try folder ?? ScratchFolder()
        let samples = folder.url.appending(path: "corpus")
        let made = try await Program.loadTest.run(["corpus", "--out", samples.path, "--count", "1", "--seed", "3"])
        #expect(made.status == 0, "\(made.errors)")
        let sample = try String(contentsOf: samples.appending(path: "genuine-1.b64"), encoding: .utf8)
        return (try await RunningGateway(["GATEWAY_TRUST_ROOTS": samples.appending(path: "root.pem").path]), sample)
    }
}

extension RunningGateway {
    /// Returns the CPU time of all its threads so far, in seconds (proc_pid_schedstat: nanoseconds on a core).
    func cpuSeconds() throws -> Double {
        let tasks = "/proc/\(process.processIdentifier)/task"
        let nanoseconds = try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { task in
            (try? String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8))?.split(separator: " ").first
                .flatMap { Double($0) }
        }
        return nanoseconds.reduce(0, +) / 1e9
    }

}
