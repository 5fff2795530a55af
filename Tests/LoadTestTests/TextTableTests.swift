// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct TextTableTests {
    @Test func `columns are as wide as their widest cell and end at the right`() {
        let table = AlignedTable(header: ["a", "long"], rows: [["100", "x"]])
        #expect(table.text == "  a  long\n100     x")
    }
}
