// SPDX-License-Identifier: Apache-2.0

import Clients

@testable import Settings

/// Loads a configuration from texts in place of files.
func loadConfiguration(
    _ environment: [String: String] = [:], file: String? = nil, files: [String: String] = [:], path: String? = nil
) throws(ConfigurationProblems) -> GatewayConfiguration {
    var files = files
    if let file { files["gateway.yaml"] = file }
    let path = path ?? (file == nil ? nil : "gateway.yaml")
    return try ConfigurationSource(environment: environment, filePath: path).load {
        [files] path throws(FileFault) in
        guard let text = files[path] else { throw FileFault(path: path, description: "does not exist") }
        return text
    }
}

func configurationProblems(
    _ environment: [String: String] = [:], file: String? = nil, files: [String: String] = [:], path: String? = nil
) -> [String] {
    configurationProblems(reading: { try loadConfiguration(environment, file: file, files: files, path: path) })
}
