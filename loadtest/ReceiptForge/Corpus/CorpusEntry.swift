// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One receipt of a corpus and its only correct answer.
public struct CorpusEntry: Sendable {
    /// The fields that a verifier must read from a genuine receipt.
    public struct Contents: Sendable, Hashable {
        /// The bundle identifier.
        public let bundleID: String
        /// The number of in-app purchases.
        public let purchases: Int
        /// `Sandbox` or `Production`.
        public let environment: String

        init(_ contents: ReceiptContents) {
            bundleID = contents.bundleID
            purchases = contents.purchases.count
            environment = contents.receiptType.hasSuffix("Sandbox") ? "Sandbox" : "Production"
        }
    }

    /// A name that is unique in its corpus and fit for a file.
    public let name: String
    /// The evidence that a client would send.
    public let evidence: ForgedEvidence
    /// The answer that a verifier must give.
    public let expected: ExpectedAnswer
    /// Nil unless the answer is genuine.
    public let contents: Contents?
    /// Nil for a random genuine receipt.
    public let fault: Fault?
    /// The purpose of this entry.
    public let explanation: String

    /// The name of the file with the base64 text.
    public var fileName: String { name + ".b64" }
}
