// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A fault of a JSON text: the broken rule, the field and the position.
///
/// Holds names and positions only, never a byte of a value, so it may be logged and sent to clients.
package struct JSONFault: Error, Hashable, Sendable {
    package let rule: Rule
    /// The member with the fault; nil for the document itself.
    package var field: String?
    /// The offset in bytes from 0.
    package let position: Int

    package init(_ rule: Rule, field: String? = nil, at position: Int) {
        self.rule = rule
        self.field = field
        self.position = position
    }

    /// Returns the same fault in the field `name`, unless it already names a field.
    package func inField(_ name: String) -> JSONFault {
        JSONFault(rule, field: field ?? name, at: position)
    }
}

extension JSONFault {
    /// The rules that a text can break.
    package enum Rule: Hashable, Sendable {
        /// Only white space.
        case emptyBody
        /// EF BB BF at the start, which RFC 8259 §8.1 forbids.
        case byteOrderMark
        /// Another JSON value than an object.
        case notAnObject
        /// The text ends inside a value.
        case truncated
        /// Another byte than the one expected.
        case expected(String)
        /// Data follows the value.
        case trailingData
        case unknownField
        case duplicateField
        case missingField
        /// A value of another JSON type.
        case wrongType(expected: JSONType, found: JSONType)
        /// A number with a fraction, an exponent, or more than 64 bits.
        case notAnInteger
        /// A value that the field does not accept; the text says what it accepts.
        case notAccepted(String)
        case textTooLong(maximumBytes: Int)
        /// A control character that is not escaped (RFC 8259 §7).
        case controlCharacter
        /// A backslash before anything but `"\/bfnrtu`, or `\u` without four hexadecimal digits.
        case invalidEscape
        /// `\uD800`...`\uDFFF` without its other half.
        case loneSurrogate
        case invalidUTF8
        case tooDeep(maximumDepth: Int)
        /// Too many members and elements, counted together.
        case tooManyValues(maximum: Int)
        case tooLarge(maximumBytes: Int)
        /// Too much data in members that are not read.
        case tooMuchSkipped
    }
}

/// The kinds of JSON values, for messages.
package enum JSONType: String, Hashable, Sendable {
    case string, number, boolean, null, object, array
}

extension JSONFault: CustomStringConvertible {
    /// The field or the body, its fault, and the position.
    package var description: String {
        let place = field.map { "\"\($0)\" " } ?? "the body "
        return place + rule.explanation + " (at byte \(position))"
    }
}

extension JSONFault.Rule {
    /// The fault's name in answers.
    package var name: String {
        switch self {
        case .emptyBody: "empty_body"
        case .byteOrderMark: "byte_order_mark"
        case .notAnObject: "not_an_object"
        case .truncated: "truncated"
        case .expected: "unexpected_byte"
        case .trailingData: "trailing_data"
        case .unknownField: "unknown_field"
        case .duplicateField: "duplicate_field"
        case .missingField: "missing_field"
        case .wrongType: "wrong_type"
        case .notAnInteger: "not_an_integer"
        case .notAccepted: "value_not_accepted"
        case .textTooLong: "text_too_long"
        case .controlCharacter: "control_character"
        case .invalidEscape: "invalid_escape"
        case .loneSurrogate: "lone_surrogate"
        case .invalidUTF8: "invalid_utf8"
        case .tooDeep: "too_deep"
        case .tooManyValues: "too_many_values"
        case .tooLarge: "too_large"
        case .tooMuchSkipped: "too_much_skipped"
        }
    }

    fileprivate var explanation: String {
        switch self {
        case .emptyBody: "is empty; send a JSON object"
        case .byteOrderMark: "starts with a UTF-8 byte order mark; send plain UTF-8"
        case .notAnObject: "is not a JSON object"
        case .truncated: "ends too early; the JSON is incomplete"
        case .expected(let what): "has an unexpected byte where \(what) was expected"
        case .trailingData: "has data after the JSON"
        case .unknownField: "is not a field of this request"
        case .duplicateField: "appears more than once"
        case .missingField: "is required"
        case .wrongType(let expected, let found): "must be a \(expected.rawValue), not \(found.withArticle)"
        case .notAnInteger: "must be an integer, without fraction or exponent"
        case .notAccepted(let accepted): "must be \(accepted)"
        case .textTooLong(let maximumBytes): "is longer than \(maximumBytes) bytes"
        case .controlCharacter: "has a control character that is not escaped"
        case .invalidEscape: "has an invalid escape sequence"
        case .loneSurrogate: "has half of a surrogate pair in an escape sequence"
        case .invalidUTF8: "is not valid UTF-8"
        case .tooDeep(let maximumDepth): "is nested deeper than \(maximumDepth) levels"
        case .tooManyValues(let maximum): "contains more than \(maximum) values"
        case .tooLarge(let maximumBytes): "is larger than \(maximumBytes) bytes"
        case .tooMuchSkipped: "has too much data in members that are not used; omit them"
        }
    }
}

extension JSONType {
    fileprivate var withArticle: String {
        switch self {
        case .null: "null (leave the field out instead)"
        case .array, .object: "an \(rawValue)"
        case .string, .number, .boolean: "a \(rawValue)"
        }
    }
}
