// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The limits of the values that are passed over, and what is left of them. One allowance serves a whole text: a limit for
/// each value alone would grow with their number.
package struct JSONSkipAllowance: Hashable, Sendable {
    /// Arrays and objects inside one another, in one value.
    package let maximumDepth: Int
    /// Steps that all values together may take, counted as `JSONReader.work` is.
    package let maximumWork: Int
    fileprivate(set) var workDone = 0

    /// An allowance that is untouched.
    package init(maximumDepth: Int, maximumWork: Int) {
        self.maximumDepth = maximumDepth
        self.maximumWork = maximumWork
    }
}

extension JSONReader {
    /// Passes over the value that stands here, of any type, and checks its form. Names that stand twice inside it are not
    /// looked for.
    ///
    /// - Throws: `JSONFault`; `.tooDeep` or `.tooMuchSkipped` for a value beyond the allowance.
    package mutating func skipValue(within allowance: inout JSONSkipAllowance) throws(JSONFault) {
        let start = work - allowance.workDone
        defer { allowance.workDone = work - start }
        try skipValue(depth: 0, SkipLimits(depth: allowance.maximumDepth, lastWork: start + allowance.maximumWork))
    }

    private struct SkipLimits {
        let depth: Int
        /// The count of steps at which skipping ends.
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
