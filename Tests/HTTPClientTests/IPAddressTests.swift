// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPClient

struct IPAddressTests {
    @Test(arguments: [
        [17, 253, 144, 10], [1, 1, 1, 1], [9, 255, 255, 255], [11, 0, 0, 0], [100, 63, 255, 255], [100, 128, 0, 0],
        [126, 255, 255, 255], [128, 0, 0, 0], [169, 253, 255, 255], [169, 255, 0, 0], [172, 15, 255, 255],
        [172, 32, 0, 0], [192, 167, 255, 255], [192, 169, 0, 0], [198, 17, 255, 255], [198, 20, 0, 0],
        [223, 255, 255, 255],
    ])
    func `this IPv4 address is globally reachable, and so are IPv6 addresses that wrap it`(_ bytes: [UInt8]) {
        #expect(Self.forms(of: bytes).allSatisfy { $0?.isGloballyReachable == true })
    }

    @Test(arguments: [
        [0, 0, 0, 0], [0, 255, 255, 255], [10, 0, 0, 1], [10, 255, 255, 255], [100, 64, 0, 0], [100, 127, 255, 255],
        [127, 0, 0, 1], [127, 255, 255, 255], [169, 254, 169, 254], [172, 16, 0, 0], [172, 31, 255, 255],
        [192, 0, 0, 8], [192, 0, 2, 1], [192, 88, 99, 1], [192, 168, 0, 1], [192, 168, 255, 255], [198, 18, 0, 0],
        [198, 19, 255, 255], [198, 51, 100, 1], [203, 0, 113, 1], [224, 0, 0, 1], [239, 255, 255, 255],
        [240, 0, 0, 1], [255, 255, 255, 255],
    ])
    func `this IPv4 address is not globally reachable, nor are IPv6 addresses that wrap it`(_ bytes: [UInt8]) {
        #expect(Self.forms(of: bytes).allSatisfy { $0?.isGloballyReachable == false })
    }

    /// The address itself, IPv4-mapped, and behind NAT64.
    private static func forms(of bytes: [UInt8]) -> [IPAddress?] {
        let zeros = [UInt8](repeating: 0, count: 16)
        return [
            IPAddress(bytes), IPAddress(zeros.prefix(10) + [0xFF, 0xFF] + bytes),
            IPAddress([0, 0x64, 0xFF, 0x9B] + zeros.prefix(8) + bytes),
        ]
    }

    @Test(arguments: [
        ([0x20, 0x01, 0x48, 0x60], true), ([0x26, 0x20, 0x01, 0x49], true), ([0x2A, 0x00], true),
        ([0x20, 0x01, 0x02, 0x00], true), ([0x3F, 0xFF, 0x10], true),
        ([], false), ([0x20, 0x01, 0x00, 0x00], false), ([0x20, 0x01, 0x01, 0xFF], false),
        ([0x20, 0x01, 0x0D, 0xB8], false), ([0x20, 0x02, 0x7F, 0x00, 0x00, 0x01], false),
        ([0x3F, 0xFF, 0x0F], false), ([0x1F, 0xFF], false), ([0x40], false), ([0x00, 0x64, 0xFF, 0x9B, 0, 1], false),
        ([0xFC], false), ([0xFD], false), ([0xFE, 0x80], false), ([0xFE, 0xC0], false), ([0xFF, 0x02], false),
    ])
    func `allocated IPv6 addresses are globally reachable`(_ start: [UInt8], _ isReachable: Bool) {
        let address = IPAddress(start + [UInt8](repeating: 0, count: 15 - start.count) + [1])
        #expect(address?.isGloballyReachable == isReachable)
    }

    @Test(arguments: [0, 3, 5, 15, 17])
    func `an address has 4 or 16 bytes`(_ count: Int) {
        #expect(IPAddress([UInt8](repeating: 1, count: count)) == nil)
    }
}
