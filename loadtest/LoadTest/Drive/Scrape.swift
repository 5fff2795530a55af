// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `GET /metrics` of a gateway said, in the Prometheus text format.
struct Scrape: Hashable, Sendable {
    /// One line.
    struct Sample: Hashable, Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    let samples: [Sample]

    /// Reads the lines it understands. The gateway's labels hold neither quotes nor commas.
    init(_ text: String) {
        samples = text.split(separator: "\n").compactMap { Sample($0) }
    }

    /// Asks a gateway's admin port, each time over a new connection: one that waited too long may be closed.
    static func of(adminPort: Int) async throws(DriveError) -> Scrape {
        let connection = try await HTTPConnection.open(port: adminPort)
        let text = try await connection.text(of: "/metrics")
        await connection.close()
        return Scrape(text)
    }

    /// The sum of all series of a name that have these labels among theirs; 0 if there is none.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        samples(name, labels).map(\.value).reduce(0, +)
    }

    /// The series of a name that have these labels among theirs.
    func samples(_ name: String, _ labels: [String: String] = [:]) -> [Sample] {
        samples.filter { sample in
            sample.name == name && labels.allSatisfy { sample.labels[$0] == $1 }
        }
    }
}

extension Scrape.Sample {
    /// Reads `name{label="value",...} number`; nil for comments and whatever else.
    init?(_ line: Substring) {
        guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "),
            let value = Double(line[line.index(after: space)...])
        else { return nil }
        let series = line[..<space]
        name = String(series.prefix { $0 != "{" })
        labels = Dictionary(
            series.matches(of: /(\w+)="([^"]*)"/).map { (String($0.output.1), String($0.output.2)) }
        ) { first, _ in first }
        self.value = value
    }
}
