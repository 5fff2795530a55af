// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// A file that holds no scenario.
struct ScenarioFileError: Error, Hashable, CustomStringConvertible {
    let path: String
    let error: ScenarioError

    var description: String { "\(path): \(error)" }
}

extension ScenarioFileError {
    /// Reads a scenario of any kind; errors name the file.
    static func reading<Value>(_ path: String, _ parse: (String) throws(ScenarioError) -> Value) throws -> Value {
        let text = try FileError.text(of: path)
        do throws(ScenarioError) {
            return try parse(text)
        } catch {
            throw ScenarioFileError(path: path, error: error)
        }
    }
}

extension Scenario {
    static func read(_ path: String) throws -> Scenario {
        try ScenarioFileError.reading(path) { text throws(ScenarioError) in try Scenario(yaml: text) }
    }
}
