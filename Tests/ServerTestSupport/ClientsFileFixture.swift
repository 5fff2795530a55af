// SPDX-License-Identifier: Apache-2.0

import Receipts

@testable import Clients

extension ClientsFile {
    /// The API keys of a client that sends nothing.
    static let unusedKeys = "keys: [{id: k, hash: \"hmac-sha256:\(String(repeating: "ab", count: 32))\"}]"

    /// Reads a text as `clients.yaml`, beside files with these paths and texts.
    init(
        _ text: String, at now: Timestamp = Timestamp(millisecondsSince1970: 0), files: [String: String] = [:],
        formRules: FormAccountRules = FormAccountRules(), allowsPlainWebhooks: Bool = false,
        signsAnswers: Bool = false
    ) throws(ConfigurationProblems) {
        try self.init(
            text, path: "clients.yaml", now: now, formRules: formRules, allowsPlainWebhooks: allowsPlainWebhooks,
            signsAnswers: signsAnswers
        ) { path throws(FileFault) in
            guard let text = files[path] else { throw FileFault(path: path, description: "does not exist") }
            return text
        }
    }
}

/// Returns the problems of a configuration that is read; none if it can be read.
func configurationProblems(reading read: () throws -> Any) -> [String] {
    do {
        _ = try read()
        return []
    } catch {
        return (error as? ConfigurationProblems)?.problems.map(\.description) ?? ["\(error)"]
    }
}
