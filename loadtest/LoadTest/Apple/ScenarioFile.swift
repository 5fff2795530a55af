// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials

/// A scenario in a file.
enum ScenarioFile {
    /// Reads a scenario of Apple's servers; errors name the file.
    static func read(_ path: String) throws(ScenarioFileError) -> Scenario {
        try read(path) { text throws(ScenarioError) in try Scenario(yaml: text) }
    }

    /// Reads a scenario of any kind.
    static func read<Value>(
        _ path: String, _ parse: (String) throws(ScenarioError) -> Value
    ) throws(ScenarioFileError) -> Value {
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            throw .notReadable(path: path)
        }
        do throws(ScenarioError) {
            return try parse(text)
        } catch {
            throw .notScenario(path: path, error)
        }
    }
}

/// The reason for which a file is no scenario.
enum ScenarioFileError: Error, Hashable, CustomStringConvertible {
    /// There is none, or it holds no UTF-8.
    case notReadable(path: String)
    case notScenario(path: String, ScenarioError)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .notScenario(let path, let error): "\(path): \(error)"
        }
    }
}
