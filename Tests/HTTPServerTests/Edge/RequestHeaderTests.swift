// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Testing

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("Request headers")
struct RequestHeaderTests {
    @Test func `field names ignore case`() throws {
        let header = try Self.header([
            ("HOST", "x"), ("content-TYPE", "application/json"), ("x-request-ID", "mine"), ("Content-length", "7"),
            ("EXPECT", "100-Continue"),
        ])
        #expect(header.contentType == "application/json" && header.requestID == .sent("mine"))
        #expect(header.announcedBytes == 7 && header.expectsContinue == true)
    }

    @Test(arguments: ["X-Host", "Hos", "Hostt", "H\u{2D}st", "Content-Typ"])
    func `a similar field name is another field`(name: String) throws {
        let header = try Self.header([("Host", "x"), (name, "y")])
        #expect(header.contentType == nil)
    }

    @Test(arguments: ["", " ", "\t", " \t "])
    func `white space around a value is ignored`(space: String) throws {
        let header = try Self.header([
            ("Host", "x"), ("Content-Type", "application/json\(space)"), ("X-Request-Id", "\(space)mine\(space)"),
            ("Content-Length", "7\(space)"), ("Expect", "100-continue\(space)"), ("X-API-Key", "a.b\(space)"),
            ("Authorization", space),
        ])
        #expect(header.contentType == "application/json" && header.requestID == .sent("mine"))
        #expect(header.announcedBytes == 7 && header.expectsContinue == true)
        #expect(header.credentials.authorization == "" && header.credentials.apiKey == "a.b")
    }

    @Test func `a singleton field that appears twice is ignored`() throws {
        let header = try Self.header([
            ("Host", "x"), ("Content-Type", "application/json"), ("Content-Type", "application/json"),
            ("X-Request-Id", "one"), ("X-Request-Id", "two"), ("Expect", "100-continue"), ("Expect", "100-continue"),
        ])
        #expect(header.contentType == nil && header.expectsContinue == nil)
        guard case .made = header.requestID else { Issue.record("took over one of two identifiers"); return }
    }

    @Test(arguments: [
        (["application/jose"], true), (["Application/JOSE"], true), (["text/html, application/jose"], true),
        (["application/problem+json", "application/jose;q=0.5"], true), ([" application/jose ; q=1 , */*"], true),
        (["application/jose;v=1;Q=0.001"], true), (["application/jose,"], true),
        (["application/json;q=0, application/jose"], true), (["application/json, application/jose"], false),
        (["application/jose", "application/json;q=0.1"], false),
        ([], false), ([""], false), (["*/*"], false), (["application/*"], false), (["application/json"], false),
        (["application/jose+json"], false), (["xapplication/jose"], false), (["application/jose;q=0"], false),
        (["application/jose; v=1; q=0.000"], false), ([",,,;;;,"], false), (["application/jos"], false),
    ])
    func `a signed answer is accepted if its media type is named with a weight, and JSON is not`(
        fields: [String], accepts: Bool
    ) throws {
        let header = try Self.header([("Host", "x")] + fields.map { ("Accept", $0) })
        #expect(header.acceptsJOSE == accepts)
    }

    @Test func `API keys that appear twice are one list, which is not a valid key`() throws {
        let header = try Self.header([("Host", "x"), ("X-API-Key", "a"), ("x-api-key", "b"), ("Authorization", "c")])
        #expect(header.credentials.apiKey == "a, b" && header.credentials.authorization == "c")
    }

    @Test(
        arguments: [
            ([], .http1_1, false), ([("Connection", "close")], .http1_1, true),
            ([("Connection", "CLOSE")], .http1_1, true), ([("Connection", "x, close")], .http1_1, true),
            ([], .http1_0, true), ([("Connection", "keep-alive")], .http1_0, false),
            ([("Upgrade", "h2c")], .http1_1, true),
        ] as [([(String, String)], RequestHeader.Version, Bool)])
    func `the last request of a connection is recognised`(
        fields: [(String, String)], version: RequestHeader.Version, isLast: Bool
    ) throws {
        let header = try Self.header([("Host", "x")] + fields, version)
        #expect(header.isLast == isLast)
    }

    @Test(
        arguments: [
            ("/v1/verify", "/v1/verify", nil), ("/v1/verify?x=1", "/v1/verify", "x=1"), ("/a??b?c", "/a", "?b?c"),
            ("/a?", "/a", ""), ("http://x/v1/verify?x=1", "/v1/verify", "x=1"), ("http://x?y", "/", "y"),
        ] as [(String, String, String?)])
    func `the path follows scheme and authority, and the query the first options mark`(
        target: String, path: String, query: String?
    ) throws {
        let header = try Self.header([("Host", "x")], target: target)
        #expect(String(copying: header.path) == path && header.query == query)
    }

    @Test func `only OPTIONS may have the asterisk as its target`() {
        #expect(throws: EdgeRefusal.malformed) { try Self.header([("Host", "x")], target: "*") }
    }

    @Test func `generated request IDs are unique, and equal in log and response`() {
        let identifiers = (0..<1000).map { _ in RequestID(sent: nil) }
        #expect(Set(identifiers.map(\.text)).count == 1000)
        for identifier in identifiers {
            var bytes = ByteBuffer()
            bytes.write(identifier)
            #expect(String(buffer: bytes) == identifier.text)
            #expect(identifier.text.utf8.count == 32 && identifier.text.allSatisfy(\.isHexDigit))
        }
    }

    // MARK: - Steps

    private static func header(
        _ fields: [(String, String)], _ version: RequestHeader.Version = .http1_1, target: String = "/"
    ) throws -> RequestHeader {
        try .forTests(HTTPHeaders(fields), .POST, target, version)
    }
}
