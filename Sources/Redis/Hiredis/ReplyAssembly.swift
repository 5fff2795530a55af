// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One reply while it is being read, part by part, and the limits it must keep.
struct ReplyAssembly {
    /// An array of which not all elements were read.
    private struct OpenArray {
        var missing: Int
        var elements: [RedisValue] = []
    }

    private let limits: RedisNodeConfiguration.Limits
    private var open: [OpenArray] = []
    private var finished: RedisValue?
    private var bytes = 0
    private var elements = 0
    /// The first rule that was broken.
    private(set) var fault: ReplyFault?

    /// Nothing read yet.
    init(limits: RedisNodeConfiguration.Limits) {
        self.limits = limits
    }

    /// Whether a string of this length may follow.
    func hasRoom(forBytes count: Int) -> Bool {
        count <= limits.maximumReplyBytes - bytes
    }

    /// Counts a string; false if that is too much.
    mutating func admit(bytes count: Int) -> Bool {
        guard hasRoom(forBytes: count) else { return fail(.tooManyBytes) }
        bytes += count
        return true
    }

    /// An array begins; false if it announces too much. Nothing is allocated for what is only announced.
    mutating func beginArray(count: Int) -> Bool {
        guard count <= limits.maximumReplyElements - elements else { return fail(.tooManyElements) }
        guard open.count < limits.maximumReplyNesting else { return fail(.nestedTooDeep) }
        elements += count
        guard count > 0 else { return add(.array([])) }
        open.append(OpenArray(missing: count))
        return true
    }

    /// Adds a value where it belongs, and closes the arrays that are complete with it. Always true.
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

    /// The reply, if it is complete; the next one may begin.
    mutating func take() -> RedisValue? {
        defer { (finished, bytes, elements) = (nil, 0, 0) }
        return finished
    }

    private mutating func fail(_ fault: ReplyFault) -> Bool {
        self.fault = self.fault ?? fault
        return false
    }
}
