// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The limits of skipped values and the work done so far, for a whole text: a limit per value would grow with their
/// number.
package struct JSONSkipAllowance: Hashable, Sendable {
    /// The maximum nesting of arrays and objects in one value.
    package let maximumDepth: Int
    /// The maximum number of steps for all values together, counted as in `JSONReader.work`.
    package let maximumWork: Int
    fileprivate(set) var workDone = 0

    package init(maximumDepth: Int, maximumWork: Int) {
        self.maximumDepth = maximumDepth
        self.maximumWork = maximumWork
    }
}

extension JSONReader {
    /// Skips the next value, of any type, and checks its form. Duplicate names inside it are not detected.
    ///
    /// - Throws: `JSONFault`; `.tooDeep` or `.tooMuchSkipped` for a value beyond the allowance.
    package mutating func skipValue(within allowance: inout JSONSkipAllowance) throws(JSONFault) {
        let start = work - allowance.workDone
        defer { allowance.workDone = work - start }
        try skipValue(depth: 0, SkipLimits(depth: allowance.maximumDepth, lastWork: start + allowance.maximumWork))
    }

    private struct SkipLimits {
        let depth: Int
        /// The value of `work` at which skipping ends.
        let lastWork: Int
    }

    private mutating func skipValue(depth: Int, _ limits: SkipLimits) throws(JSONFault) {
        work += 1
        switch try nextType() {
        case .string: _ = try readText()
        case .number: try skipNumber()
        case .boolean: _ = try readBoolean()
        case .null: try readWord("null", "null")
        case .object, .array:
            guard depth < limits.depth else { throw JSONFault(.tooDeep(maximumDepth: limits.depth), at: position) }
            try skipContainer(depth: depth + 1, limits)
        }
        guard work <= limits.lastWork else { throw JSONFault(.tooMuchSkipped, at: position) }
    }

    private mutating func skipContainer(depth: Int, _ limits: SkipLimits) throws(JSONFault) {
        let isObject = try nextType() == .object
        position += 1
        var isFirst = true
        while isObject ? try nextKey(isFirst: isFirst) != nil : try nextElement(isFirst: isFirst) {
            try skipValue(depth: depth, limits)
            isFirst = false
        }
    }
}
