// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import LoadTest

struct MemoryTests {
    @Test func `memory is read from the kernel's lines`() {
        let status = "Name:\tx\nVmHWM:\t    2204 kB\nVmRSS:\t    1000 kB\n"
        #expect(ProcessMemory(status: status)?.peak == 2204 * 1024)
        #expect(ProcessMemory(status: status)?.resident == 1000 * 1024)
        #expect(ProcessMemory(status: "VmHWM:\t 1 kB\n") == nil)
    }

    @Test func `the ratio is told with and without the text`() throws {
        let report = MemoryReport(bytes: 3_000_000, base64Bytes: 4_000_000, purchases: 7000, peakBytes: 6_000_000)
        #expect(
            report.text == """
                receipt             3,000,000 bytes, 7,000 purchases
                base64 text         4,000,000 bytes, in memory before
                decode and verify   6,000,000 bytes at the peak: 2.00 times the receipt's size
                with the text       3.33 times the receipt's size
                """)
        let json = try JSONText.of(report)
        #expect(json.contains(#""ratio_to_size" : 2"#) && json.contains(#""ratio_to_size_with_base64" : 3.333"#))
    }

    @Test func `the probe verifies the receipt that was written for it`() throws {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let sample = MemorySample(folder: folder.path)
        try sample.write(byteCount: 300_000, seed: 1)
        let report = try MemoryProbe(sample: sample).measure()
        #expect((295_000...305_000).contains(report.bytes) && report.purchases > 500)
        #expect(report.base64Bytes == (report.bytes + 2) / 3 * 4)
    }

    @Test func `a missing file is named`() {
        #expect(throws: MemoryError.unreadable(path: "/nowhere", code: 2)) { try ByteFile(path: "/nowhere").contents() }
    }
}
