// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import NIOCore
internal import Receipts

/// One of the endpoints at which receipts are verified: what callers write there, and what they read.
protocol VerifyEndpoint: Sendable {
    /// Its path.
    var path: String { get }

    /// Whether requests with these header fields are read at all.
    func check(_ fields: HTTPFields) throws

    /// Reads a body.
    /// - Throws: what becomes a problem.
    func read(_ body: ByteBuffer) throws -> VerifyInput

    /// Writes an answer, and what it will be if it is given again.
    func replies(to question: Question, with answer: Answer, at now: Timestamp) -> Replies

    /// Whether the end of Apple's endpoint concerns who reads an answer from this source; nil for none.
    func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool
}

/// What a body turns out to be.
enum VerifyInput {
    /// Evidence and a question.
    case request(VerificationRequest)
    /// Nothing that could be decided; this is said to it.
    case reply(Reply)
}

/// A request to verify, complete.
struct SentRequest: Sendable {
    /// The header, as the edge let it pass.
    let fields: HTTPFields
    /// The whole body.
    let body: ByteBuffer
    /// Who holds the other end of the connection; a proxy, perhaps.
    let peer: Peer
    /// Where it is noted what became of the request.
    let outcome: RequestOutcome
}

/// An answer in the form of an endpoint: now, and when it is given again.
struct Replies: Sendable {
    let now: Reply
    let again: Reply
}
