// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Recognises parts of a request in a text of the response, as proxies and error pages repeat them.
enum Echo {
    /// Returns true if a text must not be shown: it has 8 consecutive bytes of what was sent.
    static func isContained(in text: String, of sent: [[UInt8]]) -> Bool {
        var words: Set<UInt64> = []
        forEachWord(of: Array(text.utf8)) { words.insert($0) }
        var isEchoed = false
        for sent in sent where !words.isEmpty {
            forEachWord(of: sent) { isEchoed = isEchoed || words.contains($0) }
        }
        return isEchoed
    }

    /// Calls `body` with each eight consecutive bytes, as a number.
    private static func forEachWord(of bytes: [UInt8], _ body: (UInt64) -> Void) {
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if index >= 7 { body(word) }
        }
    }
}
