// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The bytes of a request, what the standards say of them, and what the gateway answers.
struct RawRequest: Sendable {
    /// The RFC and the section: `9112 §3.2`.
    let clause: String
    let text: String
    let outcome: Outcome
    /// True if the client sends no more after it (RFC 9112 §9.6).
    var endsInput = false
    /// The statuses behind a proxy that writes the request anew, so that nothing is wrong with it any more.
    var behindProxy: [Int]?
    /// True if a proxy in front would see something other than a request of HTTP/1.1.
    var isDirectOnly = false

    /// - Parameter text: `↵` stands for CR and LF.
    init(_ clause: String, _ text: String, _ outcome: Outcome) {
        (self.clause, self.text, self.outcome) = (clause, text.replacing("↵", with: "\r\n"), outcome)
    }

    /// The answers, and the end of the connection.
    struct Outcome: Sendable {
        let answers: [Answer]
        let isOpen: Bool

        /// Answered, and the connection goes on.
        static func open(_ answers: Answer...) -> Outcome { Outcome(answers: answers, isOpen: true) }
        /// Answered or refused, and the connection ends.
        static func closed(_ answers: Answer...) -> Outcome { Outcome(answers: answers, isOpen: false) }
    }

    /// A status, and whether a body comes with it.
    struct Answer: Sendable, ExpressibleByIntegerLiteral {
        let status: Int
        let hasBody: Bool

        init(integerLiteral status: Int) {
            (self.status, hasBody) = (status, status >= 200 && status != 204)
        }

        private init(_ status: Int, hasBody: Bool) { (self.status, self.hasBody) = (status, hasBody) }

        /// An answer to HEAD (RFC 9110 §9.3.2).
        static func head(_ status: Int) -> Answer { Answer(status, hasBody: false) }
    }

    /// With the end of the input behind it.
    var thenNoMore: RawRequest {
        var request = self
        request.endsInput = true
        return request
    }

    /// Repaired by HAProxy, and then answered like this.
    func repaired(_ statuses: Int...) -> RawRequest {
        var request = self
        request.behindProxy = statuses
        return request
    }

    /// Not for a proxy.
    var directly: RawRequest {
        var request = self
        request.isDirectOnly = true
        return request
    }

    /// Requests about one subject.
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

    /// The name that the gateway in the tests was given.
    static let hostName = "gateway.example"

    // MARK: - Pieces

    static let body = #"{"receipt":"AQID"}"#

    /// A request that finds nothing.
    static func get(_ fields: String, target: String = "/nope") -> String {
        "GET \(target) HTTP/1.1↵\(fields)↵↵"
    }

    /// A request that is answered with a verdict.
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
