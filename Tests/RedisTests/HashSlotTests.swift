// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct HashSlotTests {
    @Test func `the checksum is that of the cluster specification`() {
        #expect(HashSlot.crc16(Array("123456789".utf8)[...]) == 0x31C3)
        #expect(HashSlot.crc16([]) == 0)
    }

    /// Results of `CLUSTER KEYSLOT` in Redis 7.0.
    @Test(arguments: [
        ("foo", 12182), ("bar", 5061), ("hello", 866), ("", 0), ("123456789", 12739), ("user1000", 3443),
        ("{user1000}.following", 3443), ("{user1000}.followers", 3443), ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015),
        ("foo{bar}{zap}", 5061), ("{}", 15257), ("{", 4092), ("}{", 12793), ("a}b{foo}", 12182), ("{foo", 13308),
    ]) func `a key has the same slot as in Redis`(_ key: String, _ slot: Int) {
        #expect(HashSlot(of: RedisWord(key)).number == slot)
    }

    @Test func `there are 16384 slots`() {
        #expect(HashSlot(0) != nil && HashSlot(16383) != nil)
        #expect(HashSlot(16384) == nil && HashSlot(-1) == nil && HashSlot(Int64.max) == nil)
    }
}
