// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a text is not the JSON it should be: the broken rule, the field it concerns, and where.
///
/// Holds names and positions only, never a byte of a value, so it may be logged and answered.
package struct JSONFault: Error, Hashable, Sendable {
    /// The rule that was broken.
    package let rule: Rule
    /// The member the fault is in; nil where it is in the document itself.
    package var field: String?
    /// Bytes from the start of the text, counted from 0.
    package let position: Int

    /// A broken rule at a position.
    package init(_ rule: Rule, field: String? = nil, at position: Int) {
        self.rule = rule
        self.field = field
        self.position = position
    }

    /// The same fault, said to be in `field` unless it already names one.
    package func inField(_ name: String) -> JSONFault {
        JSONFault(rule, field: field ?? name, at: position)
    }
}

extension JSONFault {
    /// What a text can get wrong; one case per rule.
    package enum Rule: Hashable, Sendable {
        /// Nothing but white space.
        case emptyBody
        /// EF BB BF in front: RFC 8259 §8.1 forbids it.
        case byteOrderMark
        /// The text is some other JSON value.
        case notAnObject
        /// The text ends inside a value.
        case truncated
        /// Some other byte stands where this was expected.
        case expected(String)
        /// Something follows the value.
        case trailingData
        /// A member that is not in the schema.
        case unknownField
        /// The same member twice.
        case duplicateField
        /// A required member is missing.
        case missingField
        /// A value of another JSON type.
        case wrongType(expected: JSONType, found: JSONType)
        /// A number with a fraction, an exponent, or more than 64 bits.
        case notAnInteger
        /// A value outside what the field accepts, which the text says.
        case notAccepted(String)
        /// A text longer than its field may be, in bytes.
        case textTooLong(maximumBytes: Int)
        /// A control character that is not escaped (RFC 8259 §7).
        case controlCharacter
        /// A backslash before anything but `"\/bfnrtu`, or `\u` without four hexadecimal digits.
        case invalidEscape
        /// `\uD800`...`\uDFFF` without its other half.
        case loneSurrogate
        /// Bytes that are not UTF-8.
        case invalidUTF8
        /// Arrays and objects nested deeper than is read.
        case tooDeep(maximumDepth: Int)
        /// More members and elements, all together, than are read.
        case tooManyValues(maximum: Int)
        /// A text of more bytes than are read.
        case tooLarge(maximumBytes: Int)
        /// More in members that are not read than is passed over.
        case tooMuchSkipped
    }
}

/// The kinds of JSON values, for messages.
package enum JSONType: String, Hashable, Sendable {
    case string, number, boolean, null, object, array
}

extension JSONFault: CustomStringConvertible {
    /// One sentence that says what to mend.
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
        case .truncated: "ends too early: the JSON is incomplete"
        case .expected(let what): "has something else where \(what) was expected"
        case .trailingData: "goes on after the JSON"
        case .unknownField: "is not a field of this request"
        case .duplicateField: "stands more than once"
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
        case .tooManyValues(let maximum): "holds more than \(maximum) values"
        case .tooLarge(let maximumBytes): "is larger than \(maximumBytes) bytes"
        case .tooMuchSkipped: "holds too much in members that are not used; leave them out"
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
