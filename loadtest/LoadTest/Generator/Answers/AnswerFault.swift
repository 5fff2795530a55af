// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why bytes are no answer in HTTP/1.1 (RFC 9112).
enum AnswerFault: Error, Hashable, Sendable {
    /// §4: `HTTP/1.x`, a space, three digits.
    case malformedStatusLine
    /// §5: a name, a colon, a value; no white space before the colon and no folded lines.
    case malformedField
    /// §2.2: lines end with CR and LF.
    case bareLineFeed
    /// §6.3: one number, or the same one again.
    case malformedLength
    /// §6.1: a length beside a transfer coding hides where an answer ends.
    case lengthAndCoding
    /// §6.1: a coding other than chunked.
    case unknownCoding
    /// §7.1: hexadecimal digits, then CR and LF; and CR and LF after each chunk.
    case malformedChunk
    /// RFC 9110 §15.2.2: nobody asked for another protocol.
    case switchedProtocol
    /// A line, a head or a trailer is longer than one may be.
    case headTooLarge
    /// A body is longer than one may be.
    case bodyTooLarge
    /// One answer of the class 1xx after another.
    case tooManyInterimAnswers
    /// The connection ended in the middle.
    case truncated
    /// Nobody asked.
    case unasked
}
