// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One reply that is being read in parts, within limits.
struct ReplyAssembly {
    /// An array with missing elements.
    private struct OpenArray {
        var missing: Int
        var elements: [RedisValue] = []
    }

    private let limits: RedisNodeConfiguration.Limits
    private var open: [OpenArray] = []
    private var finished: RedisValue?
    private var bytes = 0
    private var elements = 0
    private(set) var fault: ReplyFault?

    init(limits: RedisNodeConfiguration.Limits) { self.limits = limits }

    /// Returns true if a string of this length is within the limit.
    func hasRoom(forBytes count: Int) -> Bool {
        count <= limits.maximumReplyBytes - bytes
    }

    /// Counts a string; false if it exceeds the limit.
    mutating func admit(bytes count: Int) -> Bool {
        guard hasRoom(forBytes: count) else { return fail(.tooManyBytes) }
        bytes += count
        return true
    }

    /// Begins an array; false if it exceeds a limit. Allocates nothing for announced elements.
    mutating func beginArray(count: Int) -> Bool {
        guard count <= limits.maximumReplyElements - elements else { return fail(.tooManyElements) }
        guard open.count < limits.maximumReplyNesting else { return fail(.nestedTooDeep) }
        elements += count
        guard count > 0 else { return add(.array([])) }
        open.append(OpenArray(missing: count))
        return true
    }

    /// Adds a value, and closes the arrays that it completes. Always true.
    mutating func add(_ value: RedisValue) -> Bool {
        var value = value
        while let last = open.indices.last {
            open[last].elements.append(value)
            open[last].missing -= 1
            guard open[last].missing == 0 else { return true }
            value = .array(open[last].elements)
            open.removeLast()
        }
        finished = value
        return true
    }

    /// Returns the reply if it is complete, and begins the next one.
    mutating func take() -> RedisValue? {
        defer { (finished, bytes, elements) = (nil, 0, 0) }
        return finished
    }

    private mutating func fail(_ fault: ReplyFault) -> Bool {
        self.fault = self.fault ?? fault
        return false
    }
}
