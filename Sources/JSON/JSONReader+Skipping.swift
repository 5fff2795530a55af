// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Passes over the value that stands here, of any type, and checks its form. Names that stand twice inside it are
    /// nobody's concern.
    ///
    /// - Parameters:
    ///   - maximumDepth: arrays and objects inside one another.
    ///   - maximumBytes: what arrays and objects may take; a string is passed over quickly however long it is.
    package mutating func skipValue(maximumDepth: Int, maximumBytes: Int) throws(JSONFault) {
        let limits = SkipLimits(depth: maximumDepth, bytes: maximumBytes, start: position)
        try skipValue(depth: 0, limits)
    }

    private struct SkipLimits {
        let depth: Int
        let bytes: Int
        let start: Int
    }

    private mutating func skipValue(depth: Int, _ limits: SkipLimits) throws(JSONFault) {
        switch try nextType() {
        case .string: _ = try readText()
        case .number: _ = try readNumber()
        case .boolean: _ = try readBoolean()
        case .null: try readWord("null", "null")
        case .object, .array:
            guard depth < limits.depth else { throw JSONFault(.tooDeep(maximumDepth: limits.depth), at: position) }
            try skipContainer(depth: depth + 1, limits)
        }
    }

    private mutating func skipContainer(depth: Int, _ limits: SkipLimits) throws(JSONFault) {
        let isObject = try nextType() == .object
        position += 1
        var isFirst = true
        while isObject ? try nextKey(isFirst: isFirst) != nil : try nextElement(isFirst: isFirst) {
            guard position - limits.start <= limits.bytes else {
                throw JSONFault(.tooLarge(maximumBytes: limits.bytes), at: limits.start)
            }
            try skipValue(depth: depth, limits)
            isFirst = false
        }
    }
}
