// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials

/// A scenario in a file.
enum ScenarioFile {
    /// Reads the scenario, and names the file in what is wrong with it.
    static func read(_ path: String) throws(ScenarioFileError) -> Scenario {
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            throw .notReadable(path: path)
        }
        do throws(ScenarioError) {
            return try Scenario(yaml: text)
        } catch {
            throw .notScenario(path: path, error)
        }
    }
}

/// Why a file is no scenario.
enum ScenarioFileError: Error, Hashable, CustomStringConvertible {
    /// There is none, or it holds no UTF-8.
    case notReadable(path: String)
    /// It breaks a rule.
    case notScenario(path: String, ScenarioError)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .notScenario(let path, let error): "\(path): \(error)"
        }
    }
}
