// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A configuration in loadtest/peers, with `{{name}}` where a value is filled in.
struct PeerTemplate: Sendable {
    let text: String

    /// Reads one from a folder.
    init(_ name: String, in folder: String) throws(BenchError) {
        let path = "\(folder)/\(name)"
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else { throw .noPeers(path) }
        self.init(text: text)
    }

    init(text: String) {
        self.text = text
    }

    /// Throws unless each value has its place, and each place its value.
    func filled(_ values: [String: String]) throws(BenchError) -> String {
        var result = text
        for (name, value) in values {
            let place = "{{\(name)}}"
            guard result.contains(place) else { throw .template(name) }
            result = result.replacing(place, with: value)
        }
        if let open = result.firstMatch(of: /\{\{(\w+)\}\}/) { throw .template(String(open.output.1)) }
        return result
    }
}
