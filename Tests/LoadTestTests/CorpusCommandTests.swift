// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import ReceiptForge
import Testing

@testable import LoadTest

struct CorpusCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "loadtest-\(UUID().uuidString)")

    /// Runs the command in the folder and removes it afterwards.
    private func withFolder(_ body: () async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body()
    }

    private func put(_ text: String, in file: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: file))
    }

    private func makeRoom(force: Bool = false) throws {
        try CorpusFolder(path: folder.path).makeRoom(force: force)
    }

    private var files: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }
    }

    @Test func `a corpus is written and the next step is told`() async throws {
        try await withFolder {
            let summary = try await CorpusCommand.parse(["--out", folder.path, "--count", "3"]).write()
            #expect(summary.hasPrefix("Wrote 3 genuine and "))
            let roots = "\(folder.path)/root.pem,\(folder.path)/jws-root.pem=Sandbox+Production"
            #expect(summary.hasSuffix("GATEWAY_TRUST_ROOTS=\(roots.shellWord) receipt-gateway serve"))
            #expect(
                try files.isSuperset(of: [
                    "root.pem", "index.json", "genuine-1.b64", "genuine-3.b64", "jws-all-claims.jws",
                ]))
            let written = try files
            try makeRoom()
            let key = ForgedAPIKey(seed: CorpusCommand.defaultSeed).fileName
            let kept: Set = ["root.pem", "jws-root.pem", "intermediates.pem", "pki.json", key]
            #expect(try files == kept && written.count > 200)
        }
    }

    @Test(arguments: ["notes.txt", "index.json"])
    func `a folder with other files is refused and left alone`(file: String) async throws {
        try await withFolder {
            try put(#"[{"file": "notes.txt"}]"#, in: file)
            await #expect(throws: CorpusFolderError.holdsOtherFiles(path: folder.path, example: file)) {
                try await CorpusCommand.parse(["--out", folder.path, "--count", "1"]).write()
            }
            #expect(try files == [file])
        }
    }

    @Test func `force takes a folder with other files and removes nothing`() async throws {
        try await withFolder {
            try put("mine", in: "notes.txt")
            try makeRoom(force: true)
            #expect(try files == ["notes.txt"])
        }
    }

    @Test func `an index cannot make the command remove files elsewhere`() async throws {
        try await withFolder {
            try put(#"[{"file": "../victim.b64", "expected": "genuine", "explanation": ""}]"#, in: "index.json")
            #expect(throws: CorpusFolderError.self) { try makeRoom() }
        }
    }

    @Test func `a new folder needs no room`() throws {
        try makeRoom()
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test func `a file is no folder`() async throws {
        try await withFolder {
            try put("", in: "file")
            let path = folder.appending(path: "file").path
            #expect(throws: CorpusFolderError.isNoFolder(path: path)) {
                try CorpusFolder(path: path).makeRoom(force: true)
            }
        }
    }

    @Test func `receipts of rare sizes are sent by request only`() async throws {
        try await withFolder {
            _ = try await CorpusCommand.parse(["--out", folder.path, "--count", "2"]).write()
            try checkSizes()
        }
    }

    private func checkSizes() throws {
        let corpus = CorpusFolder(path: folder.path)
        let usual = try corpus.genuineReceipts(1000), all = try corpus.genuineReceipts(1000, giants: true)
        #expect(usual.allSatisfy { $0.utf8.count <= 64 << 10 } && usual.count > 10)
        let giants = all.filter { !usual.contains($0) }
        #expect(giants.count == all.count - usual.count && giants.contains { $0.utf8.count > 5_000_000 })
        #expect(try corpus.genuineReceipts(1) == [usual[0]])
    }

    // MARK: - Requests for other tools

    private struct VegetaTarget: Decodable {
        let method, url: String
        let header: [String: [String]]
        let body: Data
    }

    private struct K6Request: Decodable {
        let url, body: String
        let headers: [String: String]
    }

    private struct Body: Decodable {
        let receipt: String
    }

    @Test func `vegeta gets a target on each line, with its body in base64`() async throws {
        try await withFolder {
            let summary = try await CorpusCommand.parse([
                "--out", folder.path, "--count", "3", "--format", "vegeta", "--url", "http://h:81", "-H", "X-Key: a b",
            ]).write()
            #expect(summary.contains("vegeta attack -format=json -targets=\(folder.path)/vegeta.json"))
            let lines = try Data(contentsOf: folder.appending(path: "vegeta.json")).split(separator: UInt8(ascii: "\n"))
            let targets = try lines.map { try JSONDecoder().decode(VegetaTarget.self, from: $0) }
            #expect(targets.count == 3)
            #expect(targets.allSatisfy { $0.method == "POST" && $0.url == "http://h:81/v1/verify" })
            #expect(targets[0].header == ["Content-Type": ["application/json"], "X-Key": ["a b"]])
            let receipts = try targets.map { try JSONDecoder().decode(Body.self, from: $0.body).receipt }
            #expect(receipts == (try CorpusFolder(path: folder.path).genuineReceipts(3)) && Set(receipts).count == 3)
        }
    }

    @Test func `k6 gets its requests and a script that reads them`() async throws {
        try await withFolder {
            let summary = try await CorpusCommand.parse([
                "--out", folder.path, "--count", "2", "--format", "k6", "--url", "https://h/verifyReceipt",
            ]).write()
            #expect(summary.contains("k6 run --vus 64 --duration 30s \(folder.path)/k6.js"))
            let file = try Data(contentsOf: folder.appending(path: "k6.json"))
            let requests = try JSONDecoder().decode([K6Request].self, from: file)
            #expect(requests.count == 2 && requests.allSatisfy { $0.url == "https://h/verifyReceipt" })
            #expect(requests[0].headers == ["Content-Type": "application/json"])
            #expect(requests.allSatisfy { $0.body.hasPrefix(#"{"receipt-data":"MI"#) })
            let script = try String(contentsOf: folder.appending(path: "k6.js"), encoding: .utf8)
            #expect(script.contains("open('./k6.json')") && script.contains("export default function"))
        }
    }

    @Test func `a URL that is none is wrong usage`() {
        #expect(throws: (any Error).self) { try CorpusCommand.parse(["--out", "x", "--url", "ftp://h"]) }
    }
}
