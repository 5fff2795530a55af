// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Caching

struct GenerationsTests {
    @Test func `a value that is found again outlives others`() {
        var values = Generations<Int, String>(maximumBytes: 40)
        values.insert("a", for: 1, byteCount: 10)
        values.insert("b", for: 2, byteCount: 10)
        // Both become old; the one that is found becomes young again.
        values.insert("c", for: 3, byteCount: 10)
        #expect(values.find(1) == "a")
        values.insert("d", for: 4, byteCount: 10)
        #expect(values.find(1) == "a" && values.find(2) == nil)
    }

    @Test func `a removed value frees its bytes`() {
        var values = Generations<Int, Int>(maximumBytes: 40)
        values.insert(0, for: 0, byteCount: 10)
        for number in 1...1000 {
            values.insert(number, for: number, byteCount: 10)
            let wasThere = values.remove(number)
            #expect(wasThere && values.find(number) == nil)
        }
        #expect(values.find(0) == 0)
    }
}
