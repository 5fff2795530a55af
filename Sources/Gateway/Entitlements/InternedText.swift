// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A text by its number in `InternedTexts`: a rule compares and copies numbers.
struct InternedText: Hashable, Comparable, Sendable {
    fileprivate let number: UInt32

    /// The order in which the texts were found.
    static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}

/// The distinct texts of one list of facts: equal texts have equal numbers.
struct InternedTexts: Sendable {
    private enum Limits {
        /// The texts that are searched one by one: most lists have a product and a chain.
        static let searched = 8
    }

    private var texts: [String] = []
    /// The numbers of all texts; empty while they are few.
    private var numbers: [String: InternedText] = [:]

    subscript(text: InternedText) -> String { texts[Int(text.number)] }

    func find(_ text: String) -> InternedText? {
        guard texts.count <= Limits.searched else { return numbers[text] }
        return texts.firstIndex(of: text).map(Self.number)
    }

    mutating func intern(_ text: String) -> InternedText {
        if let known = find(text) { return known }
        texts.append(text)
        let new = Self.number(texts.count - 1)
        if texts.count == Limits.searched + 1 {
            for index in texts.indices { numbers[texts[index]] = Self.number(index) }
        } else if texts.count > Limits.searched {
            numbers[text] = new
        }
        return new
    }

    mutating func intern(_ text: String?) -> InternedText? { text.map { intern($0) } }

    /// A list has far fewer texts than 2^32.
    private static func number(_ index: Int) -> InternedText {
        InternedText(number: UInt32(truncatingIfNeeded: index))
    }
}
