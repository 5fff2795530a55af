// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The questions asked lately, up to a number of bytes. Two generations: when the young one is half of the limit, it
/// becomes the old one, and what nobody asked for since goes.
struct QuestionCache: Sendable {
    private let maximumBytes: Int
    private var young: [Fingerprint: Question] = [:]
    private var old: [Fingerprint: Question] = [:]
    private var youngBytes = 0

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// How many questions are remembered.
    var count: Int { young.count + old.count }

    /// The question with this body, if it was asked lately.
    mutating func question(_ body: Fingerprint, byteCount: Int) -> Question? {
        if let question = young[body] { return question }
        guard let question = old.removeValue(forKey: body) else { return nil }
        insert(question, body, byteCount: byteCount)
        return question
    }

    /// Remembers a question. Its fields and its last answer take a few times what its body takes.
    mutating func insert(_ question: Question, _ body: Fingerprint, byteCount: Int) {
        let cost = 4 * byteCount + 1024
        if youngBytes + cost > maximumBytes / 2 {
            (old, young, youngBytes) = (young, [:], 0)
        }
        young[body] = question
        youngBytes += cost
    }
}
