// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing

@Suite struct OwnershipNameTests {
    @Test func `the API's names are those of the documentation`() {
        #expect(Ownership.allCases.map(\.rawValue) == ["first_seen", "same", "other", "unknown"])
    }
}
