// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import FoundationEssentials
internal import ReceiptForge

struct CorpusFolder {
    let path: String

    /// Removes the files of an earlier corpus, its index first: a folder with an index is complete.
    ///
    /// - Parameter force: true if other files may be there, which are left alone.
    func makeRoom(force: Bool) throws {
        guard try isPresent() else { return }
        if let rows = index() {
            for file in ["index.json"] + rows.map(\.file) { try? FileManager.default.removeItem(at: url(of: file)) }
        } else if !force, let other = try FileManager.default.contentsOfDirectory(atPath: path).min() {
            throw CorpusFolderError.holdsOtherFiles(path: path, example: other)
        }
    }

    func write(_ corpus: Corpus, progress: (_ written: Int) -> Void) async throws {
        do {
            try await CorpusWriter(directory: path).write(corpus, progress: progress)
        } catch let error as CocoaError {
            throw CorpusFolderError.cannotBeWritten(path: path, reason: error.localizedDescription)
        }
    }

    /// Returns the genuine app receipts of the corpus in base64, up to a maximum number.
    /// - Parameter giants: true to include receipts of rare sizes.
    func genuineReceipts(_ count: Int, giants: Bool = false) throws -> [String] {
        var receipts: [String] = []
        for row in (index() ?? []) where row.isGenuineReceipt && receipts.count < count {
            let receipt = try FileError.text(of: url(of: row.file).path).filter { !$0.isWhitespace }
            if giants || receipt.utf8.count <= Self.usualBytes { receipts.append(receipt) }
        }
        guard !receipts.isEmpty else { throw CorpusFolderError.noReceipts(path: path) }
        return receipts
    }

    /// The size in base64 that hardly any customer's receipt exceeds.
    private static let usualBytes = 64 << 10

    private func isPresent() throws(CorpusFolderError) -> Bool {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return false }
        guard isFolder else { throw .isNoFolder(path: path) }
        return true
    }

    /// The rows of the index, or nil if the folder holds no corpus.
    private func index() -> [IndexRow]? {
        guard let index = try? Data(contentsOf: url(of: "index.json")),
            let rows = try? JSONDecoder().decode([IndexRow].self, from: index),
            rows.allSatisfy({ $0.isFileOfCorpus && !$0.file.contains("/") })
        else { return nil }
        return rows
    }

    /// The members that tell an index of `CorpusWriter` from any other.
    private struct IndexRow: Decodable {
        let file: String
        /// Absent in corpora that hold app receipts only.
        let evidence: String?
        let expected: String
        let explanation: String

        var isFileOfCorpus: Bool { file.hasSuffix(".b64") || file.hasSuffix(".jws") }
        var isGenuineReceipt: Bool { expected == "genuine" && (evidence ?? "receipt") == "receipt" }
    }

    func url(of file: String) -> URL {
        URL(filePath: path, directoryHint: .isDirectory).appending(path: file)
    }
}

enum CorpusFolderError: Error, Hashable, CustomStringConvertible {
    case isNoFolder(path: String)
    /// The folder holds something and no complete corpus.
    case holdsOtherFiles(path: String, example: String)
    case cannotBeWritten(path: String, reason: String)
    case noReceipts(path: String)

    var description: String {
        switch self {
        case .isNoFolder(let path): "'\(path)' is a file; --out takes a folder."
        case .holdsOtherFiles(let path, let example):
            "'\(path)' holds '\(example)' and no complete corpus (no index.json of ours). Name an empty or a new "
                + "folder, or add --force to write between the files that are there."
        case .cannotBeWritten(let path, let reason): "Cannot write to '\(path)': \(reason)"
        case .noReceipts(let path): "'\(path)' holds no genuine receipts with an index.json, as 'corpus' writes them."
        }
    }
}

enum ToolFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case vegeta, k6
}

/// The genuine receipts of a corpus as requests for another load tester.
struct ToolRequests {
    let folder: CorpusFolder
    let target: LoadTarget
    let fields: [HeaderField]

    /// Writes the files of a tool and returns the command that uses them.
    func write(_ receipts: [String], for tool: ToolFormat) throws -> String {
        let form = RequestForm(target: target, mode: nil, fields: [])
        let bodies = receipts.map(form.body)
        switch tool {
        case .vegeta:
            let header = Dictionary(all.map { ($0.name, [$0.value]) }, uniquingKeysWith: +)
            let lines = try bodies.map {
                try JSONOutput.compact(VegetaTarget(url: target.url, header: header, body: Data($0.utf8))) + "\n"
            }
            let file = try write(lines.joined(), to: "vegeta.json")
            return "vegeta attack -format=json -targets=\(file.shellWord) -rate=1000 -duration=30s | vegeta report"
        case .k6:
            let headers = Dictionary(all.map { ($0.name, $0.value) }) { $1 }
            let requests = bodies.map { K6Request(url: target.url, headers: headers, body: $0) }
            _ = try write(try JSONOutput.compact(requests), to: "k6.json")
            return "k6 run --vus 64 --duration 30s \(try write(Self.k6Script, to: "k6.js").shellWord)"
        }
    }

    private var all: [HeaderField] { [HeaderField(name: "Content-Type", value: "application/json")] + fields }

    private func write(_ text: String, to name: String) throws -> String {
        do {
            try Data(text.utf8).write(to: folder.url(of: name))
        } catch {
            throw CorpusFolderError.cannotBeWritten(path: folder.path, reason: "\(error)")
        }
        return "\(folder.path)/\(name)"
    }

    /// A line of vegeta's JSON format: the body in base64.
    private struct VegetaTarget: Encodable {
        let method = "POST"
        let url: String
        let header: [String: [String]]
        let body: Data
    }

    private struct K6Request: Encodable {
        let url: String
        let headers: [String: String]
        let body: String
    }

    private static let k6Script = """
        import http from 'k6/http';
        import { check } from 'k6';
        import { SharedArray } from 'k6/data';

        const requests = new SharedArray('requests', () => JSON.parse(open('./k6.json')));

        export default function () {
          const { url, headers, body } = requests[Math.floor(Math.random() * requests.length)];
          const answer = http.post(url, body, { headers });
          check(answer, { genuine: (answer) => answer.status === 200 && answer.json('verdict') === 'genuine' });
        }

        """
}
