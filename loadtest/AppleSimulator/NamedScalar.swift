// SPDX-License-Identifier: Apache-2.0

/// A value and its name for messages: of a scenario, or of a request that controls the simulator.
package protocol NamedScalar {
    associatedtype Failure: Error

    /// A text; nil for other values.
    var string: String? { get }
    /// A text, number or truth value, as text; nil for lists and objects.
    var scalar: String? { get }

    /// Returns the error about a value that its name does not accept.
    func wrong(needed: String) -> Failure
}

extension NamedScalar {
    /// Returns a non-empty text.
    package func text() throws(Failure) -> String {
        guard let string, !string.isEmpty else { throw wrong(needed: "a text") }
        return string
    }

    package func number(in range: ClosedRange<Double>) throws(Failure) -> Double {
        guard let number = scalar.flatMap({ Double($0) }), range.contains(number) else {
            throw wrong(needed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func integer<Number: FixedWidthInteger>(
        in range: ClosedRange<Number> = 0...Number.max
    ) throws(Failure) -> Number {
        guard let number = scalar.flatMap({ Number($0) }), range.contains(number) else {
            throw wrong(needed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func word<Word: CaseIterable & RawRepresentable<String>>(as type: Word.Type) throws(Failure) -> Word {
        guard let word = string.flatMap({ Word(rawValue: $0) }) else {
            throw wrong(needed: Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    package func flag() throws(Failure) -> Bool {
        guard let flag = scalar.flatMap({ Bool($0) }) else { throw wrong(needed: "true or false") }
        return flag
    }
}
