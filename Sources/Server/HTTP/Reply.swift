// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// What is answered, before the fields that every answer has.
struct Reply: Sendable {
    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [.contentType: "application/json"]
    var body: ByteBuffer
}

extension Reply {
    /// The reply that tells of a problem.
    init(_ problem: Problem, requestID: String?) {
        body = ByteBuffer(bytes: problem.json(requestID: requestID))
        let head = problem.head(bodyBytes: body.readableBytes)
        (status, fields) = (head.status, head.headerFields)
    }
}

extension Response {
    /// The reply as the router sends it.
    init(_ reply: Reply) {
        self.init(status: reply.status, headers: reply.fields, body: ResponseBody(byteBuffer: reply.body))
    }
}
