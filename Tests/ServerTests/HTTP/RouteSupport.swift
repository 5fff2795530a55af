// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Resilience

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import Server
@testable import Telemetry

extension ClientAdmission {
    /// The admission of one process.
    static var forTests: ClientAdmission {
        ClientAdmission(rates: EmbeddedRateLimiter(), slots: EmbeddedInFlightLimiter())
    }
}

extension RequestCharging {
    static func forTests() throws -> RequestCharging {
        RequestCharging(metrics: LimitMetrics(try PrometheusRegistry(MetricCatalogue.all)))
    }
}

extension RequestContext {
    /// Creates the context of a request without a connection.
    /// - Parameter peer: the IP address that the connection would have.
    static func forTests(
        _ fields: HTTPHeaders = [:], _ method: HTTPMethod = .GET, _ path: String = "/",
        in routes: RouteTable = RouteTable([]), client: Client = .loopback, peer: String? = nil
    ) throws -> RequestContext {
        let header = try RequestHeader(RequestHead(fields.addingHost(), method, path))
        return RequestContext(
            header: header, match: routes.match(header.method, header.path), client: client,
            socketAddress: try peer.map { try SocketAddress(ipAddress: $0, port: 1) })
    }
}

extension RequestHead {
    /// Creates the head of a request, as the parser does.
    init(
        _ headers: HTTPHeaders, _ method: HTTPMethod = .POST, _ target: String = "/", _ version: Version = .http1_1
    ) {
        var fields = FieldLines()
        for (name, value) in headers {
            let text = value.utf8.span
            fields.append(name: name.utf8.span, value: text.extracting(text.trimmed(0..<text.count)))
        }
        self.init(
            method: HTTPRequest.Method(rawValue: method.rawValue) ?? .post, target: target, version: version,
            fields: fields)
    }
}

extension HTTPHeaders {
    func addingHost() -> HTTPHeaders {
        var fields = self
        fields.add(name: "Host", value: "localhost")
        return fields
    }
}
