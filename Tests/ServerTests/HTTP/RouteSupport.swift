// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HTTPServer
@testable import Settings

extension RequestContext {
    /// Creates the context of a request without a connection.
    /// - Parameter peer: the IP address that the connection would have.
    static func forTests(
        _ fields: HTTPHeaders = [:], _ method: HTTPMethod = .GET, _ path: String = "/",
        in routes: RouteTable = RouteTable([]), client: Client = .loopback, peer: String? = nil
    ) throws -> RequestContext {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: fields)
        head.headers.add(name: "Host", value: "localhost")
        let header = try RequestHeader(head)
        return RequestContext(
            header: header, match: routes.match(header.method, header.path), client: client,
            socketAddress: try peer.map { try SocketAddress(ipAddress: $0, port: 1) })
    }
}
