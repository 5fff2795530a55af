// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPServer
internal import Telemetry

/// The signature that a request demands for its answer. A class, because most requests demand none.
final class SignatureTerms: Sendable {
    enum Limits {
        /// The characters of a nonce: 96 random bits in base64url at least.
        static let nonce = 16...128
    }

    static let nonceField = "Gateway-Nonce"

    let keys: AnswerKeys
    /// A text of the client's that the signature covers; nil for an answer that may be repeated.
    let nonce: String?

    /// Returns nil for a request whose answer is not signed. Not an initialiser, which would allocate before it decides.
    static func of(_ header: RequestHeader, _ client: Client, _ access: Access) throws(Problem) -> SignatureTerms? {
        guard let keys = access.rules.answerKeys, client.signsAnswers || header.acceptsJOSE else { return nil }
        return SignatureTerms(keys, nonce: try nonce(in: header.values(of: nonceField)))
    }

    /// The kind of a new signature under these terms.
    var signature: AnswerSignature { nonce == nil ? .made : .nonce }

    private init(_ keys: AnswerKeys, nonce: String?) { (self.keys, self.nonce) = (keys, nonce) }

    /// - Parameter fields: the values of all lines.
    private static func nonce(in fields: [String]) throws(Problem) -> String? {
        guard let text = fields.first else { return nil }
        guard fields.count == 1, Limits.nonce.contains(text.utf8.count), text.utf8.allSatisfy(\.isBase64URL) else {
            throw .invalidNonce
        }
        return text
    }
}
