// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// Whole numbers on the command line, separated by commas, such as `1,3,9,187`.
struct NumberList: Hashable, Sendable {
    let numbers: [Int]

    init(_ numbers: [Int]) {
        self.numbers = numbers
    }

    /// Throws unless there is at least one number, none twice, all of them in `range`.
    func check(_ option: String, in range: ClosedRange<Int>) throws(ValidationError) {
        guard !numbers.isEmpty, Set(numbers).count == numbers.count, numbers.allSatisfy(range.contains) else {
            throw ValidationError(
                "\(option) takes different numbers from \(range.lowerBound) to \(range.upperBound), "
                    + "separated by commas, not '\(self)'.")
        }
    }
}

extension NumberList: ExpressibleByArgument {
    init?(argument: String) {
        let numbers = argument.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard !numbers.contains(nil) else { return nil }
        self.init(numbers.compactMap(\.self))
    }
}

extension NumberList: CustomStringConvertible {
    var description: String { numbers.map(String.init).joined(separator: ",") }
}
