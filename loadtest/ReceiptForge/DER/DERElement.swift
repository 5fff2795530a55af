// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One element of an encoding: identifier, length and contents octets (X.690 §8.1.1).
///
/// The writer is a plain value so that a fault is an edit of that value: change the length form, replace the tag,
/// append a byte to the contents. Nothing here insists on valid DER; that is the point.
enum DERElement: Sendable, Hashable {
    /// An element whose contents are already encoded.
    case element(tag: DERTag, lengthForm: DERLengthForm, contents: [UInt8])
    /// Octets taken over as they are, for instance a finished certificate.
    case verbatim([UInt8])

    /// An element with a definite, minimal length.
    init(_ tag: DERTag, _ contents: [UInt8]) {
        self = .element(tag: tag, lengthForm: .minimal, contents: contents)
    }

    /// An element around other elements.
    init(_ tag: DERTag, lengthForm: DERLengthForm = .minimal, children: [DERElement]) {
        self = .element(tag: tag, lengthForm: lengthForm, contents: Self.concatenation(of: children))
    }

    /// The octets of this element.
    var encoded: [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }

    /// The contents octets, without identifier and length.
    var contents: [UInt8] {
        switch self {
        case .element(_, _, let contents): contents
        case .verbatim(let bytes): bytes
        }
    }

    /// The same element with its length written in another form.
    func with(lengthForm: DERLengthForm) -> DERElement {
        switch self {
        case .element(let tag, _, let contents): .element(tag: tag, lengthForm: lengthForm, contents: contents)
        case .verbatim: self
        }
    }

    /// Elements one after another, without anything around them.
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
            // X.690 §8.1.5: end-of-contents octets close the indefinite form.
            if lengthForm == .indefinite { output += [0, 0] }
        }
    }
}
