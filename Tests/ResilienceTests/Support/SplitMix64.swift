// SPDX-License-Identifier: Apache-2.0

import ReceiptForge

extension SplitMix64 {
    mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}
