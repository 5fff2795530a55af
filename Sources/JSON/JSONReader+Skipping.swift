// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Passes over the value that stands here, of any type, and checks its form. Names that stand twice inside it are
    /// nobody's concern.
    ///
    /// - Parameter maximumDepth: arrays and objects inside one another.
    package mutating func skipValue(maximumDepth: Int) throws(JSONFault) {
        try skipValue(depth: 0, maximumDepth: maximumDepth)
    }

    private mutating func skipValue(depth: Int, maximumDepth: Int) throws(JSONFault) {
        switch try nextType() {
        case .string: _ = try readText()
        case .number: _ = try readNumber()
        case .boolean: _ = try readBoolean()
        case .null: try readWord("null", "null")
        case .object, .array:
            guard depth < maximumDepth else { throw JSONFault(.tooDeep(maximumDepth: maximumDepth), at: position) }
            try skipContainer(depth: depth + 1, maximumDepth: maximumDepth)
        }
    }

    private mutating func skipContainer(depth: Int, maximumDepth: Int) throws(JSONFault) {
        let isObject = try nextType() == .object
        position += 1
        var isFirst = true
        while isObject ? try nextKey(isFirst: isFirst) != nil : try nextElement(isFirst: isFirst) {
            try skipValue(depth: depth, maximumDepth: maximumDepth)
            isFirst = false
        }
    }
}
