// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// One reading of `/metrics`: the value of each series.
struct Scrape {
    let text: String
    let values: [String: Double]

    init(_ gateway: RunningGateway) async throws {
        let answer = try await gateway.get("/metrics", port: gateway.adminPort)
        #expect(answer.status == 200)
        #expect(answer.contentType == "text/plain; version=0.0.4; charset=utf-8")
        text = String(decoding: answer.body, as: UTF8.self)
        let samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            line.lastIndex(of: " ").map { (String(line[..<$0]), Double(line[$0...].dropFirst()) ?? .nan) }
        }
        values = Dictionary(uniqueKeysWithValues: samples)
    }

    /// The value of one of the gateway's own series.
    subscript(_ series: String) -> Double? { values["receipt_gateway_" + series] }
}
