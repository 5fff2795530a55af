// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
package import NIOCore
package import Receipts

/// An endpoint that verifies receipts: the formats of its requests and answers.
package protocol VerifyEndpoint: Sendable {
    var path: String { get }

    /// Throws if bodies of this content type are not read.
    /// - Parameter contentType: the header field; nil for none or several.
    func check(contentType: String?) throws

    /// True if answers may be kept in the near cache.
    var keepsAnswers: Bool { get }

    /// True if answers may be deferred.
    var defersAnswers: Bool { get }

    /// Reads a body.
    /// - Throws: an error that becomes a problem.
    func read(_ body: ByteBuffer) throws -> VerifyInput

    /// Writes an answer, and the form in which it is sent again.
    func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply)

    /// Returns true if an answer from this source (nil for none) announces the end of Apple's endpoint.
    func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool
}

extension VerifyEndpoint {
    package var keepsAnswers: Bool { true }
    package var defersAnswers: Bool { false }
}

package enum VerifyInput {
    case request(VerificationRequest)
    /// An immediate reply, because the body allows no decision.
    case reply(Reply)
}
