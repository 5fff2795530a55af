// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Gateway

struct GenerationsTests {
    @Test func `what has a tag is forgotten by it, and nothing else`() {
        var values = Generations<Int, String>(maximumBytes: 1000)
        values.insert("a", for: 1, byteCount: 10, tags: ["x", "y"])
        values.insert("b", for: 2, byteCount: 10, tags: ["x"])
        values.insert("c", for: 3, byteCount: 10)
        #expect(values.removeAll(tagged: "y") == [1])
        #expect(values.find(1) == nil && values.find(2) == "b" && values.find(3) == "c")
        #expect(values.removeAll(tagged: "x") == [2] && values.removeAll(tagged: "x") == [])
        #expect(values.find(2) == nil && values.find(3) == "c")
    }

    @Test func `a tag finds what has become old, what came back, and not what lost it`() {
        var values = Generations<Int, String>(maximumBytes: 40)
        values.insert("a", for: 1, byteCount: 10, tags: ["x"])
        values.insert("b", for: 2, byteCount: 10, tags: ["x"])
        // Both become old; one is asked for and comes back.
        values.insert("c", for: 3, byteCount: 10)
        #expect(values.find(1) == "a")
        #expect(Set(values.removeAll(tagged: "x")) == [1, 2])
        values.insert("d", for: 4, byteCount: 10, tags: ["y"])
        values.insert("d", for: 4, byteCount: 10, tags: [])
        #expect(values.removeAll(tagged: "y") == [] && values.find(4) == "d")
    }

    @Test func `what was taken away leaves its room`() {
        var values = Generations<Int, Int>(maximumBytes: 40)
        values.insert(0, for: 0, byteCount: 10, tags: ["x"])
        for number in 1...1000 {
            values.insert(number, for: number, byteCount: 10, tags: ["x"])
            let wasThere = values.remove(number)
            #expect(wasThere && values.find(number) == nil)
        }
        #expect(values.find(0) == 0)
        #expect(values.removeAll(tagged: "x") == [0])
    }
}
