// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// What is answered, before the fields that every answer has.
struct Reply: Sendable {
    var status: HTTPResponse.Status = .ok { didSet { writtenHead = nil } }
    var fields: HTTPFields = [.contentType: "application/json"] { didSet { writtenHead = nil } }
    var body: ByteBuffer { didSet { writtenHead = nil } }
    /// Fields that are others when the reply is given again.
    var added: [HTTPField] = []
    /// What `head` found out, where it is kept.
    private var writtenHead: ByteBuffer?

    /// Status, fields and the body's length, as they are sent.
    var head: ByteBuffer { writtenHead ?? writeHead() }

    /// The reply as one that is given many times.
    var repeatable: Reply {
        var reply = self
        reply.writtenHead = head
        return reply
    }

    /// - Parameter fields: beside those that every answer has.
    init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "application/json"], body: ByteBuffer) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }
}

extension Reply {
    /// The reply that tells of a problem.
    init(_ problem: Problem, requestID: String?) {
        var fields = problem.headerFields
        fields[.contentType] = Problem.contentType
        self.init(
            status: problem.status, fields: fields, body: ByteBuffer(bytes: problem.json(requestID: requestID)))
    }
}

extension Response {
    /// The reply as the router sends it.
    init(_ reply: Reply) {
        var headers = reply.fields
        headers.append(contentsOf: reply.added)
        self.init(status: reply.status, headers: headers, body: ResponseBody(byteBuffer: reply.body))
    }
}
