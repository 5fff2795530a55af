// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import Logging
import NIOEmbedded

@testable import Server

extension GatewayRequestContext {
    /// What a route gets where there is no connection.
    static var forTests: GatewayRequestContext {
        GatewayRequestContext(
            source: ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test")))
    }
}

extension Request {
    /// A request without a body.
    static func forTests(_ method: HTTPRequest.Method, _ fields: HTTPFields = [:]) -> Request {
        Request(
            head: HTTPRequest(method: method, scheme: "http", authority: "x", path: "/", headerFields: fields),
            body: RequestBody(buffer: ByteBuffer()))
    }
}
