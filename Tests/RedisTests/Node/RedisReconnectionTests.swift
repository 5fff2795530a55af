// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Redis

struct RedisReconnectionTests {
    @Test(arguments: [(0, 50), (1, 100), (3, 400), (6, 2000), (1000, 2000)])
    func `the delay doubles up to its limit, with jitter of at most half`(_ failures: Int, _ milliseconds: Int) {
        var generator = SplitMix64(seed: TestSeed.number(0))
        let span = Duration.milliseconds(milliseconds)
        let waits = (0..<200).map { _ in RedisReconnection().delay(afterFailures: failures, using: &generator) }
        #expect(waits.allSatisfy { $0 >= span / 2 && $0 <= span })
        #expect(Set(waits).count > 100)
    }

    @Test func `after a refused login the delay is longer`() {
        var generator = SplitMix64(seed: TestSeed.number(0))
        let wait = RedisReconnection().delayAfterRefusal(using: &generator)
        #expect(wait >= .seconds(5) && wait <= .seconds(10))
    }
}
