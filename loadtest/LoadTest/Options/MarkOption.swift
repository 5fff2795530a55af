// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `--mark`: what happens at a moment of the run, for whoever reads the result.
struct MarkOption: Hashable, Sendable {
    let seconds: Double
    let text: String
}

extension MarkOption: ExpressibleByArgument {
    /// Reads `30s=kill redis`.
    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), let span = TimeSpan(argument: String(argument[..<sign])) else {
            return nil
        }
        let text = String(argument[argument.index(after: sign)...])
        guard !text.isEmpty, text.utf8.count <= 200, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.init(seconds: span.seconds, text: text)
    }
}
