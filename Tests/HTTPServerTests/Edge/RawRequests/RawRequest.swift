// SPDX-License-Identifier: Apache-2.0

import Testing

/// The bytes of a request, the clause about them, and the gateway's responses.
struct RawRequest: Sendable {
    /// The RFC and the section: `9112 §3.2`.
    let clause: String
    let text: String
    let outcome: Outcome
    /// True if the client half-closes after it (RFC 9112 §9.6).
    var endsInput = false
    /// The statuses behind a proxy that repairs the request.
    var behindProxy: [Int]?
    /// True if a proxy would not see an HTTP/1.1 request.
    var isDirectOnly = false

    /// - Parameter text: `↵` stands for CR and LF.
    init(_ clause: String, _ text: String, _ outcome: Outcome) {
        (self.clause, self.text, self.outcome) = (clause, text.replacing("↵", with: "\r\n"), outcome)
    }

    /// The responses, and the state of the connection after them.
    struct Outcome: Sendable {
        let answers: [Answer]
        let isOpen: Bool

        /// Answered, and the connection stays open.
        static func open(_ answers: Answer...) -> Outcome { Outcome(answers: answers, isOpen: true) }
        /// Answered or rejected, and the connection is closed.
        static func closed(_ answers: Answer...) -> Outcome { Outcome(answers: answers, isOpen: false) }
    }

    struct Answer: Sendable, ExpressibleByIntegerLiteral {
        let status: Int
        let hasBody: Bool

        init(integerLiteral status: Int) {
            (self.status, hasBody) = (status, status >= 200 && status != 204)
        }

        private init(_ status: Int, hasBody: Bool) { (self.status, self.hasBody) = (status, hasBody) }

        /// A response to HEAD (RFC 9110 §9.3.2).
        static func head(_ status: Int) -> Answer { Answer(status, hasBody: false) }
    }

    /// The request followed by the end of the input.
    var thenNoMore: RawRequest {
        var request = self
        request.endsInput = true
        return request
    }

    /// The request repaired by HAProxy, and then answered with these statuses.
    func repaired(_ statuses: Int...) -> RawRequest {
        var request = self
        request.behindProxy = statuses
        return request
    }

    /// The request without a proxy.
    var directly: RawRequest {
        var request = self
        request.isDirectOnly = true
        return request
    }

    struct Table: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let requests: [RawRequest]

        init(_ subject: String, _ requests: [RawRequest]) {
            (testDescription, self.requests) = (subject, requests)
        }
    }

    static let tables = [
        Table("request lines", requestLines), Table("targets", targets), Table("paths", paths),
        Table("methods", methods), Table("HEAD", heads), Table("hosts", hosts), Table("origins", origins),
        Table("fields", fields), Table("lengths", lengths), Table("chunks", chunks),
        Table("expectations", expectations), Table("connections", connections), Table("pipelines", pipelines),
    ]

    /// The gateway's configured host name.
    static let hostName = "gateway.example"

    // MARK: - Pieces

    static let body = #"{"receipt":"AQID"}"#

    /// A request for an unknown path.
    static func get(_ fields: String, target: String = "/nope") -> String {
        "GET \(target) HTTP/1.1↵\(fields)↵↵"
    }

    /// A request that gets a verdict.
    static func post(_ fields: String = "", target: String = "/v1/verify", host: String = "localhost") -> String {
        postHead("Content-Length: 18\(fields.isEmpty ? "" : "↵")\(fields)", target: target, host: host) + body
    }

    static func postHead(_ fields: String, target: String = "/v1/verify", host: String = "localhost") -> String {
        "POST \(target) HTTP/1.1↵Host: \(host)↵Content-Type: application/json↵\(fields)↵↵"
    }
}

extension RawRequest: CustomStringConvertible {
    var description: String { "RFC \(clause): \(text.prefix(200).debugDescription)" }
}
