// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

enum ToolFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case vegeta, k6
}

/// The genuine receipts of a corpus as requests for another load tester.
struct ToolRequests {
    let folder: CorpusFolder
    let target: LoadTarget
    let fields: [HeaderField]

    private static let type = HeaderField(name: "Content-Type", value: "application/json")

    /// Writes the files of a tool and returns the command that uses them.
    func write(_ receipts: [String], for tool: ToolFormat) throws -> String {
        let form = RequestForm(target: target, mode: nil, fields: [])
        let bodies = receipts.map(form.body)
        switch tool {
        case .vegeta:
            let lines = try bodies.map {
                try JSONOutput.compact(VegetaTarget(url: target.url, all, Data($0.utf8))) + "\n"
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

    private var all: [HeaderField] { [Self.type] + fields }

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

        init(url: String, _ fields: [HeaderField], _ body: Data) {
            (self.url, self.body) = (url, body)
            header = Dictionary(fields.map { ($0.name, [$0.value]) }, uniquingKeysWith: +)
        }
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
