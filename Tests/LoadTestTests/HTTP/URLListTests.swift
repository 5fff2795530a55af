// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import NIOCore
import Testing

@testable import LoadTest

/// Requests to the URLs of a list, and bodies from files.
struct URLListTests {
    private static func paths(_ text: String) throws -> [String] {
        try URLList(Array(text.utf8)).targets.map(\.path)
    }

    @Test(arguments: [
        "http://h:81/a\nhttp://h:81/b?c=1\n", "http://h:81/a\r\nhttp://h:81/b?c=1",
        "\n# a comment\n  http://h:81/a  \n\nhttp://H:81/b?c=1\n\n",
    ])
    func `each line has a URL`(text: String) throws {
        #expect(try Self.paths(text) == ["/a", "/b?c=1"])
    }

    @Test(
        arguments: [
            ("", nil, URLListFault.Rule.empty), ("# none\n", nil, .empty),
            ("http://h/\nhttp://g/\n", 2, .otherServer("http://g", "http://h")),
            ("http://h/\n\nhttps://h/", 3, .otherServer("https://h", "http://h")),
            ("http://h/\nhttp://h:81/", 2, .otherServer("http://h:81", "http://h")), ("/a", 1, .url(.notHTTP("/a"))),
            ("http://h/a b", 1, .url(.malformed("http://h/a b"))),
        ] as [(String, Int?, URLListFault.Rule)])
    func `what is no list of one server's URLs is refused by its line`(
        text: String, line: Int?, rule: URLListFault.Rule
    ) {
        #expect(throws: URLListFault(line: line, rule: rule)) { try URLList(Array(text.utf8)) }
    }

    @Test func `bytes that are no text are refused`() {
        #expect(throws: URLListFault(line: nil, rule: .notText)) { try URLList([0x68, 0xFF]) }
    }

    @Test(arguments: [0, 1, 2])
    func `workers send in turn`(worker: Int) {
        var traffic = InTurn("abcde".map { ByteBuffer(string: String($0)) }, worker: worker, of: 3)
        let sent = (0..<5).map { _ in String(buffer: traffic.next()) }.joined()
        #expect(sent == ["adbec", "becad", "cadbe"][worker])
        // More workers than requests.
        var same = InTurn([ByteBuffer(string: "x")], worker: worker, of: 3)
        #expect(String(buffer: same.next()) == "x" && String(buffer: same.next()) == "x")
    }

    // MARK: - Options

    /// The first requests of a run whose list and body are in files.
    private static func requests(_ count: Int, urls: String, _ options: [String] = [], body: String? = nil) async throws
        -> [String]
    {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        var arguments = ["--urls", try folder.write(urls, to: "urls")] + options
        if let body { arguments += ["--body", try folder.write(body, to: "body")] }
        var traffic = try HTTPCommand.parse(arguments).traffic
        let listed = try traffic.prepare()
        #expect(try traffic.plan().target == listed[0])
        var requests = try await traffic.source(requests: nil, seconds: 1, listed: listed)
            .traffic(worker: 0, try traffic.plan())
        return (0..<count).map { _ in String(buffer: requests.next()) }
    }

    @Test func `a list names the server, and its URLs are got`() async throws {
        let sent = try await Self.requests(3, urls: "http://h:81/a\nhttp://h:81/b\n", ["-H", "X: y"])
        #expect(sent.map { $0.prefix { $0 != " " } } == ["GET", "GET", "GET"])
        #expect(
            sent[0].hasPrefix("GET /a HTTP/1.1\r\nHost: h:81\r\n") && sent[1].hasPrefix("GET /b ") && sent[0] == sent[2]
        )
        #expect(sent.allSatisfy { $0.hasSuffix("X: y\r\n\r\n") })
    }

    @Test func `a body is posted to each of them`() async throws {
        let sent = try await Self.requests(2, urls: "http://h/a\nhttp://h/b\n", body: "{}")
        #expect(sent[0].hasPrefix("POST /a ") && sent[1].hasPrefix("POST /b "))
        #expect(sent.allSatisfy { $0.hasSuffix("Content-Length: 2\r\n\r\n{}") })
    }

    @Test(arguments: [
        ["http://h", "--urls", "x"], ["--urls", "-", "--body", "-"], ["http://h", "--giants"],
    ])
    func `what contradicts itself is wrong usage`(arguments: [String]) {
        #expect(throws: (any Error).self) { try HTTPCommand.parse(arguments) }
    }

    @Test func `a file is read up to its limit`() throws {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let path = try folder.write("12345", to: "five")
        #expect(try FileError.bytes(of: path, atMost: 5) == Array("12345".utf8))
        #expect(throws: FileError.tooLarge(path: path, most: 4)) { try FileError.bytes(of: path, atMost: 4) }
        #expect(throws: FileError.tooLarge(path: "/dev/zero", most: 9)) {
            try FileError.bytes(of: "/dev/zero", atMost: 9)
        }
        #expect(throws: FileError.notReadable(path: folder.path("none"))) {
            try FileError.bytes(of: folder.path("none"), atMost: 9)
        }
    }
}
