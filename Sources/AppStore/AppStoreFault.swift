// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// Why a body is no answer of Apple's that could be used: what outages and proxies look like, each by its name. Holds
/// no byte of the body.
package enum AppStoreFault: Error, Hashable, Sendable {
    /// Nothing, or nothing but white space.
    case empty
    /// A page for people: how outages and proxies answer.
    case html
    /// JSON that ends too early.
    case truncated
    /// More bytes than are read.
    case tooLarge(maximumBytes: Int)
    /// Not JSON as RFC 8259 has it; the name of the broken rule, and where, in bytes from 0.
    case notJSON(rule: String, position: Int)
    /// Some other JSON value than an object.
    case notAnObject
    /// An object without `status`: not from this endpoint.
    case noStatus
    /// `status` is no number.
    case unreadableStatus
    /// A member that has to be there is not; its name, with the names it is inside of.
    case missing(String)
    /// A member that decides about entitlements is not of a type Apple documents; its name likewise.
    case unreadable(String)
}

extension AppStoreFault {
    /// One of a closed set, for metrics.
    package var label: String {
        switch self {
        case .empty: "empty"
        case .html: "html"
        case .truncated: "truncated"
        case .tooLarge: "too_large"
        case .notJSON: "not_json"
        case .notAnObject: "not_an_object"
        case .noStatus: "no_status"
        case .unreadableStatus: "unreadable_status"
        case .missing: "missing_member"
        case .unreadable: "unreadable_member"
        }
    }

    /// What the fault of a text that begins so stands for.
    init(_ fault: JSONFault, in body: [UInt8]) {
        switch fault.rule {
        case .emptyBody: self = .empty
        case .truncated: self = .truncated
        case .tooLarge(let maximumBytes): self = .tooLarge(maximumBytes: maximumBytes)
        case _
        where fault.position < body.count && body[fault.position] == UInt8(ascii: "<") && fault.isAtStart(of: body):
            self = .html
        default: self = .notJSON(rule: fault.rule.name, position: fault.position)
        }
    }
}

extension JSONFault {
    /// Whether nothing but white space stands before.
    fileprivate func isAtStart(of body: [UInt8]) -> Bool {
        body[..<position].allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }
}

extension AppStoreFault: CustomStringConvertible {
    /// One sentence for operators.
    package var description: String {
        switch self {
        case .empty: "The answer is empty."
        case .html: "The answer is HTML."
        case .truncated: "The answer ends too early."
        case .tooLarge(let maximumBytes): "The answer is larger than \(maximumBytes) bytes."
        case .notJSON(let rule, let position): "The answer is not JSON: \(rule) at byte \(position)."
        case .notAnObject: "The answer is JSON, but no object."
        case .noStatus: "The answer has no status."
        case .unreadableStatus: "The answer's status is no number."
        case .missing(let name): "The answer lacks \(name)."
        case .unreadable(let name): "The answer's \(name) is not as documented."
        }
    }
}
