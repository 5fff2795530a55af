// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptFuzzTargets
import Testing

/// A replay of the fuzzer's corpus and of every input that ever failed.
struct FuzzCorpusReplayTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "FuzzCorpus")

    private static func files() throws -> [URL] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return names.filter { !$0.hasPrefix(".") }.sorted().map { folder.appending(path: $0) }
    }

    @Test func `every input of the corpus keeps every promise`() throws {
        let files = try Self.files()
        #expect(files.count > 100)
        for file in files {
            let input = try [UInt8](Data(contentsOf: file))
            #expect(throws: Never.self, "\(file.lastPathComponent)") { try FuzzTarget.run(input) }
        }
    }

    @Test func `every target has inputs`() throws {
        let first = try Self.files().compactMap { try Data(contentsOf: $0).first }
        let targets = Set(first.map { Int($0) % FuzzTarget.allCases.count })
        #expect(targets.count == FuzzTarget.allCases.count)
    }

    @Test func `seeds keep every promise and are short enough to be changed`() {
        for (name, input) in FuzzSeeds.all {
            #expect(throws: Never.self, "\(name)") { try FuzzTarget.run(input) }
            #expect(input.count <= 4096, "\(name)")
        }
    }
}
