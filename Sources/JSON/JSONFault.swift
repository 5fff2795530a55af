// SPDX-License-Identifier: Apache-2.0

/// A fault of a JSON text: the broken rule, the field and the position.
///
/// Holds names and positions only, never a byte of a value, so it may be logged and sent to clients.
package struct JSONFault: Error, Hashable, Sendable {
    package let rule: Rule
    /// The member with the fault; nil for the document itself.
    package var field: String?
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

    package enum Rule: Hashable, Sendable {
        /// Only white space.
        case emptyBody
        /// EF BB BF at the start, which RFC 8259 §8.1 forbids.
        case byteOrderMark
        case notAnObject
        case truncated
        case expected(String)
        case trailingData
        case unknownField
        /// A name that another interface has for a field.
        case misnamedField(meant: String)
        case duplicateField
        case missingField
        /// The field or an alternative to it is required; the text names the alternatives.
        case missingAlternative(String)
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
        case tooManyValues(maximum: Int)
        case tooLarge(maximumBytes: Int)
        case tooMuchSkipped
    }
}

package enum JSONType: String, Hashable, Sendable {
    case string, number, boolean, null, object, array
}

extension JSONFault: CustomStringConvertible {
    package var description: String {
        let place = field.map { "\"\($0)\" " } ?? (rule == .duplicateField ? "a name in one object " : "the body ")
        return place + rule.texts.explanation + " (at byte \(position))"
    }
}

extension JSONFault.Rule {
    package var name: String { texts.name }

    fileprivate var texts: (name: String, explanation: String) {
        switch self {
        case .emptyBody: ("empty_body", "is empty; send a JSON object")
        case .byteOrderMark: ("byte_order_mark", "starts with a UTF-8 byte order mark; send plain UTF-8")
        case .notAnObject: ("not_an_object", "is not a JSON object")
        case .truncated: ("truncated", "ends too early; the JSON is incomplete")
        case .expected(let what): ("unexpected_byte", "has an unexpected byte where \(what) was expected")
        case .trailingData: ("trailing_data", "has data after the JSON")
        case .unknownField: ("unknown_field", "is not a field of this request")
        case .misnamedField(let meant): ("unknown_field", "is not a field of this request; use \"\(meant)\"")
        case .duplicateField: ("duplicate_field", "appears more than once")
        case .missingField: ("missing_field", "is required")
        case .missingAlternative(let others): ("missing_field", "is required, \(others)")
        case .wrongType(let expected, let found):
            ("wrong_type", "must be \(expected.withArticle), not \(found.withArticle)")
        case .notAnInteger: ("not_an_integer", "must be an integer, without fraction or exponent")
        case .notAccepted(let accepted): ("value_not_accepted", "must be \(accepted)")
        case .textTooLong(let maximumBytes): ("text_too_long", "is longer than \(maximumBytes) bytes")
        case .controlCharacter: ("control_character", "has a control character that is not escaped")
        case .invalidEscape: ("invalid_escape", "has an invalid escape sequence")
        case .loneSurrogate: ("lone_surrogate", "has half of a surrogate pair in an escape sequence")
        case .invalidUTF8: ("invalid_utf8", "is not valid UTF-8")
        case .tooDeep(let maximumDepth): ("too_deep", "is nested deeper than \(maximumDepth) levels")
        case .tooManyValues(let maximum): ("too_many_values", "contains more than \(maximum) values")
        case .tooLarge(let maximumBytes): ("too_large", "is larger than \(maximumBytes) bytes")
        case .tooMuchSkipped: ("too_much_skipped", "has too much data in members that are not used; omit them")
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
