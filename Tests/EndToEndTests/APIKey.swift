// SPDX-License-Identifier: Apache-2.0

import Testing

/// A client's API key, and its lines in the clients file.
struct APIKey {
    static let pepper = ["GATEWAY_API_KEY_PEPPER": "a pepper of at least thirty-two bytes"]

    let text: String
    let lines: String

    /// Makes a key as an operator does.
    init() async throws {
        let made = try await Program.gateway.run(["hash-key"], environment: Self.pepper)
        text = String(try #require(made.errors.split(separator: "\n").last.map { $0.drop { $0 == " " } }))
        lines = made.output
    }
}
