// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway

/// The IDs of the purchases whose data is deleted, to be found in what is stored. An ID names one purchase, whatever
/// its environment.
package struct IDsToErase: Sendable {
    package let texts: Set<String>
    private let bytes: Set<ArraySlice<UInt8>>
    private let lengths: Set<Int>

    package init(of subject: ErasureSubject) {
        texts = Set(subject.chains.map(\.originalTransactionID))
        bytes = Set(texts.map { Array($0.utf8)[...] })
        lengths = Set(bytes.map(\.count))
    }

    package func contains(_ id: String) -> Bool { texts.contains(id) }

    /// Returns true if any of the IDs is a whole word of these bytes: JSON, or a stored form. In DER the byte after a text
    /// may be a digit, too (`SEQUENCE` is 0x30); there the byte before it is its length.
    package func areNamed(in content: [UInt8]) -> Bool {
        var index = 0
        while let start = content[index...].firstIndex(where: \.isWordByte) {
            let end = content[start...].firstIndex { !$0.isWordByte } ?? content.count
            let length = start > 0 ? Int(content[start - 1]) : 0
            if contains(content[start..<end]) { return true }
            if length < end - start, contains(content[start..<start + length]) { return true }
            index = end
        }
        return false
    }

    private func contains(_ word: ArraySlice<UInt8>) -> Bool { lengths.contains(word.count) && bytes.contains(word) }
}

extension UInt8 {
    /// True for the characters of an ID.
    fileprivate var isWordByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
