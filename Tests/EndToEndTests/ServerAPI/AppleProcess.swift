// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

@testable import LoadTest

/// `receipt-loadtest apple` with customers, on ports chosen by the system.
struct AppleProcess {
    static let customers = 50

    /// The URLs below which the App Store Server API has its paths.
    let productionURL: String
    let sandboxURL: String
    /// The printed lines of a clients file with which a gateway uses the key.
    let clientsFileLines: String

    /// Runs a test with the process, and ends it.
    static func run(
        corpus: String, in folder: ScratchFolder, _ test: (AppleProcess) async throws -> Void
    ) async throws {
        let output = folder.url.appending(path: "apple.txt").path
        let program = try ChildProgram(
            Program.shell.url.path,
            [
                "-c", #"exec "$@" >"$0""#, output, Program.loadTest.url.path, "apple", "--pki", corpus,
                "--customers", "\(customers)",
            ])
        try await program.whileRunning { _ in
            try await eventually("Apple listens") {
                let text = try? String(contentsOfFile: output, encoding: .utf8)
                return text?.contains(/private_key_file: .*\n/) == true
            }
            try await test(AppleProcess(printing: String(contentsOfFile: output, encoding: .utf8)))
        }
    }

    private init(printing text: String) throws {
        func url(_ name: String) throws -> String {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") })
            return String(line.dropFirst(name.count + 1).dropLast("/verifyReceipt".count))
        }
        (productionURL, sandboxURL) = (try url("production"), try url("sandbox"))
        clientsFileLines = String(text[try #require(text.firstRange(of: "server_api:")).lowerBound...])
    }

    /// Replaces the current scenario.
    func play(_ yaml: String) async throws {
        let answer = try await HTTPCall("PUT", url: productionURL + "/scenario", body: Data(yaml.utf8)).answer()
        try #require(answer.status < 300, "\(String(decoding: answer.body, as: UTF8.self))")
    }

    /// Returns the calls of the App Store Server API, by `endpoint operation outcome`, without those by which gateways
    /// recover notifications at a time of their own.
    func calls() async throws -> [String: Int] {
        let stats = try await HTTPCall("GET", url: productionURL + "/stats").answer().json
        let api = try #require(stats["server_api"] as? [String: Any])
        let calls = try #require(api["calls"] as? [String: [String: [String: Int]]])
        return calls.reduce(into: [:]) { counts, endpoint in
            for (operation, outcomes) in endpoint.value where operation != "notification_history" {
                for (outcome, count) in outcomes { counts["\(endpoint.key) \(operation) \(outcome)"] = count }
            }
        }
    }
}
