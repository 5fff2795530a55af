// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import Receipts
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
        RequestCharging(.forTests, metrics: LimitMetrics(try PrometheusRegistry(MetricCatalogue.all)))
    }
}

extension Logger {
    /// A logger that writes nothing.
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension LogLines {
    /// Returns a logger that writes to these lines.
    func logger(
        _ settings: LogSettings = LogSettings(LogSettings.Values(level: .info)),
        metadataProvider: Logger.MetadataProvider? = .currentRequest
    ) -> Logger {
        Logger(label: "test") { [self] in
            JSONLogHandler(label: $0, settings: settings, metadataProvider: metadataProvider, write: append)
        }
    }
}

extension RequestPipeline {
    /// A pipeline that writes the line of each request to `lines` at once.
    convenience init(
        _ routes: [Route], logger: Logger, requestLogger: Logger? = nil, writingTo lines: LogLines,
        _ settings: LogSettings
    ) {
        self.init(
            routes: RouteTable(routes),
            log: RequestLog(
                logger: requestLogger ?? logger, lines: LogBatcher(limits: .eachLine, handOn: lines.append),
                settings: settings),
            logger: logger)
    }
}

extension RequestPipeline {
    /// Answers a request without a connection, whose ID is `r-1`.
    /// - Parameter peer: the IP address that the connection would have.
    func answer(
        _ method: HTTPMethod, _ target: String, _ body: String, _ contentType: String? = "application/json",
        as client: Client, from peer: String? = nil
    ) async throws -> Reply {
        var fields: HTTPHeaders = ["X-Request-Id": "r-1"]
        if let contentType { fields.add(name: "Content-Type", value: contentType) }
        let context = try RequestContext.forTests(fields, method, target, in: routes, client: client, peer: peer)
        return await begin(context, ReservedBody(ByteBuffer(string: body), nil)).value()
    }
}

extension RequestContext {
    /// Creates the context of a request without a connection.
    /// - Parameter peer: the IP address that the connection would have.
    static func forTests(
        _ fields: HTTPHeaders = [:], _ method: HTTPMethod = .GET, _ path: String = "/",
        in routes: RouteTable = RouteTable([]), client: Client = .loopback, peer: String? = nil
    ) throws -> RequestContext {
        let header = try RequestHeader.forTests(fields.addingHost(), method, path)
        let context = RequestContext(
            header: header, match: routes.match(header.method, header.path), client: client,
            peer: peer.flatMap { NetworkAddress($0) }, arrival: .now())
        context.keepDetails(bodyBytes: nil, isLogged: true)
        return context
    }
}

extension RequestHeader {
    /// Creates the header of a request as the parser does, also with what the parser refuses.
    static func forTests(
        _ headers: HTTPHeaders, _ method: HTTPMethod = .POST, _ target: String = "/", _ version: Version = .http1_1
    ) throws -> RequestHeader {
        var bytes = Array("\(method.rawValue) \(target) HTTP/1.1\r\n".utf8)
        let start = method.rawValue.utf8.count + 1
        let line = RequestLine(
            method: HTTPRequest.Method(rawValue: method.rawValue) ?? .post, target: start..<start + target.utf8.count,
            version: version)
        var fields = HeaderFields()
        for (name, value) in headers {
            let start = bytes.count
            bytes += Array("\(name):\(value)\r\n".utf8)
            let nameEnd = start + name.utf8.count
            let place = bytes.span.trimmed(nameEnd + 1..<bytes.count - 2)
            try fields.add(FieldLine(name: start..<nameEnd, value: place), in: bytes.span)
        }
        return try RequestHeader(copying: bytes.span, line, fields, try fields.framing.length(in: version))
    }
}

extension HTTPField.Name {
    static let cacheStatus = known("Cache-Status")
}

extension RouteTable {
    func match(_ method: HTTPRequest.Method, _ path: String) -> RouteMatch { match(method, path.utf8.span) }
}

extension VerifyEndpoint {
    /// Returns the request in a body.
    func request(in body: String) throws -> VerificationRequest {
        guard case .request(let request) = try read(ByteBuffer(string: body)) else { throw NothingComputed() }
        return request
    }
}

extension VerificationService {
    /// Returns an answer that needs no other service.
    func computed(_ request: VerificationRequest, at now: Timestamp) throws -> Answer {
        guard case .done(let answer) = try answer(request, at: now).computed() else { throw NothingComputed() }
        return answer
    }
}

private struct NothingComputed: Error {}

extension Reply {
    var text: String { String(decoding: body.bytes, as: UTF8.self) }
    var problem: NSDictionary? { text.jsonObject }
    /// The code of a problem; empty for other replies.
    var code: String { problem?["code"] as? String ?? "" }
    var fault: String? { problem?["fault"] as? String }

    /// The fields that differ each time the reply is sent.
    var added: [HTTPField] {
        String(decoding: addedLines, as: UTF8.self).split(separator: "\r\n").compactMap { line in
            let parts = line.split(separator: ": ", maxSplits: 1)
            return HTTPField.Name(String(parts[0])).map { HTTPField(name: $0, value: String(parts[1])) }
        }
    }
}

extension HTTPHeaders {
    func accepting(_ mediaType: String) -> HTTPHeaders {
        var fields = self
        fields.add(name: "Accept", value: mediaType)
        return fields
    }

    func addingHost() -> HTTPHeaders {
        var fields = self
        fields.add(name: "Host", value: "localhost")
        return fields
    }
}
