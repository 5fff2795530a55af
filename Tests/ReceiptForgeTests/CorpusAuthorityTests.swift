// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptForge
import Testing

/// Tests that the keys of a corpus are recreated from its folder.
struct CorpusAuthorityTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "receipt-forge-\(UUID().uuidString)")

    private func withCorpus(_ body: () throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await CorpusWriter(directory: folder.path).write(Corpus(seed: .max, genuineReceipts: 1))
        try body()
    }

    private func put(_ text: String, in file: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: file))
    }

    @Test func `the authority of a folder signs as the one that wrote it`() async throws {
        try await withCorpus {
            let contents = ReceiptContents(bundleID: "com.example.app", creationDate: UTCDate(2026, 1, 1))
            let pki = try ForgedPKI(corpusDirectory: folder.path)
            #expect(pki.sign(contents) == ForgedPKI(seed: .max).sign(contents))
        }
    }

    @Test func `a folder without a seed is refused`() async throws {
        #expect(throws: CorpusAuthorityError.notRecorded(directory: folder.path)) {
            try ForgedPKI(corpusDirectory: folder.path)
        }
    }

    @Test(arguments: ["", "{}", "{\"seed\": -1}", "7"])
    func `a seed that is none is refused`(text: String) async throws {
        try await withCorpus {
            try put(text, in: "pki.json")
            #expect(throws: CorpusAuthorityError.self) { try ForgedPKI(corpusDirectory: folder.path) }
        }
    }

    @Test func `a seed of another root is refused`() async throws {
        try await withCorpus {
            try put("{\"seed\": 1}", in: "pki.json")
            #expect(throws: CorpusAuthorityError.signedByAnother(directory: folder.path)) {
                try ForgedPKI(corpusDirectory: folder.path)
            }
        }
    }
}
