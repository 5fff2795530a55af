// SPDX-License-Identifier: Apache-2.0

import Dispatch
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

    /// Returns the names of inputs that break a promise, each with the promise. They run on a thread of their own: a target
    /// may wait for tasks, which need the threads of the pool.
    private static func broken(_ inputs: [(name: String, input: [UInt8])]) async -> [String] {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "fuzz targets").async {
                let broken = inputs.compactMap { name, input -> String? in
                    do {
                        try FuzzTarget.run(input)
                        return nil
                    } catch {
                        return "\(name): \(error)"
                    }
                }
                continuation.resume(returning: broken)
            }
        }
    }

    @Test func `every input of the corpus keeps every promise`() async throws {
        let inputs = try Self.files().map { (name: $0.lastPathComponent, input: try [UInt8](Data(contentsOf: $0))) }
        #expect(inputs.count > 100)
        #expect(await Self.broken(inputs) == [])
    }

    @Test func `every target has inputs`() throws {
        let first = try Self.files().compactMap { try Data(contentsOf: $0).first }
        let targets = Set(first.map { Int($0) % FuzzTarget.allCases.count })
        #expect(targets.count == FuzzTarget.allCases.count)
    }

    @Test func `seeds keep every promise and are short enough to be changed`() async {
        #expect(await Self.broken(FuzzSeeds.all) == [])
        for (name, input) in FuzzSeeds.all { #expect(input.count <= 4096, "\(name)") }
    }
}
