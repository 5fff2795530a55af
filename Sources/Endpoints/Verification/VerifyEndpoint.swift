// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
package import NIOCore
package import Receipts

/// One of the endpoints at which receipts are verified: what callers write there, and what they read.
package protocol VerifyEndpoint: Sendable {
    /// Its path.
    var path: String { get }

    /// Whether requests with such a body are read at all.
    /// - Parameter contentType: what the header says of it; nil for nothing that could be relied on.
    func check(contentType: String?) throws

    /// Reads a body.
    /// - Throws: what becomes a problem.
    func read(_ body: ByteBuffer) throws -> VerifyInput

    /// Writes an answer, and what it will be if it is given again.
    func replies(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Replies

    /// Whether the end of Apple's endpoint concerns who reads an answer from this source; nil for none.
    func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool
}

/// What a body turns out to be.
package enum VerifyInput {
    /// Evidence and a question.
    case request(VerificationRequest)
    /// Nothing that could be decided; this is said to it.
    case reply(Reply)
}

/// An answer in the form of an endpoint: now, and when it is given again.
package struct Replies: Sendable {
    let now: Reply
    let again: Reply
}
