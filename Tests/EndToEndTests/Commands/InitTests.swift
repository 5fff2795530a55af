// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// `receipt-gateway init`: the files of a first gateway.
@Suite(.timeLimit(.patient)) struct InitTests {
    private static let names = ["clients.yaml", "gateway.yaml", "pepper"]

    private let scratch: ScratchFolder
    private var folder: String { scratch.url.appending(path: "it's new").path }

    init() throws { scratch = try ScratchFolder() }

    private func initialize(_ arguments: [String] = ["--app", "com.example.shop"]) async throws -> Program.Outcome {
        try await Program.gateway.run(["init", "--folder", folder] + arguments)
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOf: URL(filePath: folder).appending(path: name), encoding: .utf8)
    }

    private func permissions(_ name: String) throws -> Int {
        let file = URL(filePath: folder).appending(path: name).path
        return try #require(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int)
    }

    @Test func `the next command starts a gateway that accepts the key`() async throws {
        let made = try await initialize(["--app", "com.example.shop", "--app", "com.example.news", "--client", "shop"])
        let file = folder + "/gateway.yaml"
        #expect(made.status == 0)
        let quoted = file.replacing("'", with: #"'\''"#)
        #expect(made.output == "receipt-gateway serve --config '\(quoted)'\n", "\(made.output)")
        let key = try #require(made.errors.firstMatch(of: /rgk_[0-9a-f]{16}\.[\w-]{43}/)?.output)
        let gateway = try await RunningGateway(configuredBy: file)
        let answer = try await gateway.verify(Sample.receipt(), key: String(key))
        #expect(try answer.status == 200 && Verdict(answer.json).reason == "anchor_untrusted")
        #expect(try await gateway.verify(Sample.receipt()).status == 401)
        // The same request again, from the near cache.
        #expect(try await gateway.verify(Sample.receipt(), key: String(key)).status == 200)
        #expect(await gateway.stop() == 0)
        try await eventually("the log is complete") { gateway.transcript.isComplete }
        let parts = key.split(separator: "."), lines = gateway.transcript.lines
        let requests = lines.filter { $0.contains(#""message":"request""#) }
        #expect(requests.count == 3 && requests.count { $0.contains(#""key_id":"\#(parts[0])""#) } == 2, "\(lines)")
        #expect(requests.filter { $0.contains(#""status":401"#) }.allSatisfy { !$0.contains("key_id") })
        #expect(!lines.joined().contains(parts[1]))
        let checked = try await Program.gateway.run(["check-config", "--config", file])
        let lacking = "Server API for com.example.news, com.example.shop: mode `auto` answers from what is signed alone"
        #expect(checked.status == 0 && checked.errors.contains(lacking), "\(checked.errors)")
    }

    @Test func `in one pipe a warning follows the settings, and breaks no line`() async throws {
        #expect(try await initialize().status == 0)
        let script = #"exec "$0" check-config --config "$1" 2>&1"#
        let both = try await Program.shell.run(["-c", script, Program.gateway.url.path, folder + "/gateway.yaml"])
        let lines = both.output.split(separator: "\n")
        #expect(lines.count > 50 && lines.last?.hasPrefix("Warning: ") == true, "\(both.output)")
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("gateway.") }, "\(both.output)")
    }

    @Test func `secrets are for their owner only`() async throws {
        #expect(try await initialize().status == 0)
        #expect(try permissions("pepper") & 0o077 == 0 && permissions("clients.yaml") & 0o027 == 0)
        #expect(try permissions("gateway.yaml") & 0o022 == 0 && permissions("") & 0o027 == 0)
    }

    @Test func `every setting in the comments exists`() async throws {
        #expect(try await initialize().status == 0)
        let settings = try text("gateway.yaml").split(separator: "\n").map { line in
            line.wholeMatch(of: /\ \ # ((?:\ \ )?[a-z_]+:.*)/).map { "  \($0.output.1)" } ?? String(line)
        }
        let file = try scratch.write(settings.joined(separator: "\n"), to: "all.yaml")
        let found = try await Program.gateway.run(["check-config", "--config", file])
        #expect(found.status == 78 && !found.errors.contains("is not a setting"), "\(found.errors)")
        for name in ["shared-secret", "cache-keys", "StoreKitTestCertificate.pem"] {
            #expect(found.errors.contains("/\(name)"), "\(found.errors)")
        }
    }

    @Test(arguments: names) func `a file that exists stays, and no other is written`(name: String) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        let refused = try await initialize()
        #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.contains("/\(name): File exists. Nothing was written."), "\(refused)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
        #expect(try text(name) == "mine")
    }

    @Test(arguments: [
        ([], "--app"), (["--app", "com example"], "is not a bundle ID"),
        (["--app", "com.example.shop", "--client", ""], "name"),
    ])
    func `wrong arguments are named, and nothing is written`(arguments: [String], fault: String) async throws {
        let refused = try await initialize(arguments)
        #expect(refused.status == 64 && refused.errors.contains(fault), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
