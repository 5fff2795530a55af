// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One element of an encoding: identifier, length and contents (X.690 §8.1.1).
///
/// A plain value, so that a fault is an edit, such as another length form or tag. Invalid DER is possible on purpose.
enum DERElement: Sendable, Hashable {
    case element(tag: DERTag, lengthForm: DERLengthForm, contents: [UInt8])
    /// Bytes copied as they are, for instance a finished certificate.
    case verbatim([UInt8])

    init(_ tag: DERTag, _ contents: [UInt8]) {
        self = .element(tag: tag, lengthForm: .minimal, contents: contents)
    }

    init(_ tag: DERTag, lengthForm: DERLengthForm = .minimal, children: [DERElement]) {
        self = .element(tag: tag, lengthForm: lengthForm, contents: Self.concatenation(of: children))
    }

    var encoded: [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }

    /// The contents without identifier and length.
    var contents: [UInt8] {
        switch self {
        case .element(_, _, let contents): contents
        case .verbatim(let bytes): bytes
        }
    }

    func with(lengthForm: DERLengthForm) -> DERElement {
        switch self {
        case .element(let tag, _, let contents): .element(tag: tag, lengthForm: lengthForm, contents: contents)
        case .verbatim: self
        }
    }

    /// Returns the encodings of the elements, one after another.
    static func concatenation(of elements: [DERElement]) -> [UInt8] {
        var output: [UInt8] = []
        for element in elements {
            element.append(to: &output)
        }
        return output
    }

    private func append(to output: inout [UInt8]) {
        switch self {
        case .verbatim(let bytes):
            output += bytes
        case .element(let tag, let lengthForm, let contents):
            output.append(tag.rawValue)
            output += lengthForm.lengthBytes(for: contents.count)
            output += contents
            // X.690 §8.1.5: two zero bytes end the indefinite form.
            if lengthForm == .indefinite { output += [0, 0] }
        }
    }
}
