// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct NumberTextTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (5_004_203, "5,004,203"), (-12_345, "-12,345")])
    func `thousands are set apart`(number: Int, text: String) {
        #expect(number.grouped == text)
    }

    @Test(arguments: [
        (0.855, 1, "0.9"), (0.04, 2, "0.04"), (12.0, 0, "12"), (0.999, 2, "1.00"), (-1.5, 1, "-1.5"), (-0.01, 1, "0.0"),
    ])
    func `a number has exactly the decimals it is asked for`(number: Double, decimals: Int, text: String) {
        #expect(number.fixed(decimals) == text)
    }

    @Test func `a duration counts in seconds`() {
        #expect(Duration.milliseconds(1500).seconds == 1.5)
    }

    @Test(arguments: [("a/b.pem", "a/b.pem"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''")])
    func `a shell reads the word that was meant`(text: String, word: String) {
        #expect(text.shellWord == word)
    }
}
