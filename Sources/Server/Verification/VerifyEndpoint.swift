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

    /// Whether requests with such a body are read at all.
    /// - Parameter contentType: what the header says of it; nil for nothing that could be relied on.
    func check(contentType: String?) throws

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

/// A request to verify, without its body, which is dropped as soon as it was read. A class, because it is handed on many
/// times and never changes.
final class SentRequest: Sendable {
    /// Who asks.
    let client: Client
    /// The header, as the edge let it pass.
    let header: any SentHeader
    /// Who holds the other end of the connection; a proxy, perhaps.
    let peer: Peer
    /// Where it is noted what became of the request.
    let outcome: RequestOutcome

    init(from client: Client, _ header: any SentHeader, peer: Peer, outcome: RequestOutcome) {
        (self.client, self.header) = (client, header)
        (self.peer, self.outcome) = (peer, outcome)
    }
}

/// A header, on whichever way it came.
protocol SentHeader: Sendable {
    /// The field `Content-Type`; nil for none and for several.
    var contentType: String? { get }
    /// The field `traceparent`; nil for none and for several.
    var traceparent: String? { get }
    /// All fields. To be asked for if they are wanted: they may have to be made.
    var fields: HTTPFields { get }
}

extension RequestHeader: SentHeader {}

extension HTTPFields: SentHeader {
    var contentType: String? {
        let values = self[values: .contentType]
        return values.count == 1 ? values[0] : nil
    }

    var traceparent: String? {
        let values = self[values: .traceparent]
        return values.count == 1 ? values[0] : nil
    }

    var fields: HTTPFields { self }
}

/// An answer in the form of an endpoint: now, and when it is given again.
struct Replies: Sendable {
    let now: Reply
    let again: Reply
}
