// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One receipt of a corpus and the only right answer to it.
public struct CorpusEntry: Sendable {
    /// What a verifier must read out of a genuine receipt.
    public struct Contents: Sendable, Hashable {
        /// The app.
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

    /// Unique in its corpus, fit for a file name.
    public let name: String
    /// What a client would send.
    public let evidence: ForgedEvidence
    /// What a verifier must answer.
    public let expected: ExpectedAnswer
    /// Nil unless the answer is genuine.
    public let contents: Contents?
    /// Nil for a random genuine receipt.
    public let fault: Fault?
    /// What this entry shows.
    public let explanation: String

    /// The file that holds the base64 text.
    public var fileName: String { name + ".b64" }
}
