// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The reason why a body is not a usable answer of Apple, as in outages or from proxies. Holds no byte of the body.
package enum AppStoreFault: Error, Hashable, Sendable {
    /// Empty, or only white space.
    case empty
    /// A web page: the usual body of outages and proxies.
    case html
    case truncated
    case tooLarge(maximumBytes: Int)
    /// Not JSON by RFC 8259: the name of the broken rule, and its position in bytes from 0.
    case notJSON(rule: String, position: Int)
    case notAnObject
    case noStatus
    case unreadableStatus
    /// A required member is missing; its name, with those of the enclosing members.
    case missing(String)
    /// A member that decides about entitlements has an undocumented type; its name likewise.
    case unreadable(String)

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

    init(_ fault: JSONFault, in body: [UInt8]) {
        switch fault.rule {
        case .emptyBody: self = .empty
        case .truncated: self = .truncated
        case .tooLarge(let maximumBytes): self = .tooLarge(maximumBytes: maximumBytes)
        default:
            let first = body.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            let isHTML = first.startIndex == fault.position && first.first == UInt8(ascii: "<")
            self = isHTML ? .html : .notJSON(rule: fault.rule.name, position: fault.position)
        }
    }
}
