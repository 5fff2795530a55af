// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import ReceiptForge
internal import Receipts

/// `receipt-loadtest memory-probe`: the process that `verify --memory` starts to measure in.
struct MemoryProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory-probe", abstract: "Measure the receipt in a folder; verify --memory calls this.",
        shouldDisplay: false)

    @Argument(help: "Folder with root.pem, small.b64 and receipt.b64.")
    var folder: String

    @Option(help: "How to print the result.")
    var format = OutputFormat.text

    func run() throws {
        let report = try MemoryProbe(sample: MemorySample(folder: folder)).measure()
        print(try format == .json ? JSONText.of(["memory": report]) : report.text)
    }

    /// Measures in a process of its own, which prints the result.
    static func runInNewProcess(on sample: MemorySample, format: OutputFormat) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe")
        process.arguments = ["memory-probe", sample.folder, "--format", format.rawValue]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw MemoryError.failed(status: process.terminationStatus) }
    }
}

/// The memory for one large receipt, measured in a process that has done nothing else: memory that was used before and
/// given back to the allocator would hide what is used now.
struct MemoryProbe {
    let sample: MemorySample

    func measure() throws -> MemoryReport {
        var trustStore = TrustStore(anchors: [])
        try trustStore.add(pem: ByteFile(path: sample.root).text, environments: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: trustStore)
        // OpenSSL is loaded and the chain remembered once per process, not once per receipt.
        _ = try verify(ByteFile(path: sample.smallReceipt).contents(), with: verifier)
        let text = try ByteFile(path: sample.receipt).contents()
        let before = try ProcessMemory.current()
        let receipt = try verify(text, with: verifier)
        let after = try ProcessMemory.current()
        return MemoryReport(
            bytes: text.count / 4 * 3 - text.count { $0 == UInt8(ascii: "=") }, base64Bytes: text.count,
            purchases: receipt.purchases.count, peakBytes: max(0, after.peak - before.resident))
    }

    private func verify(_ text: [UInt8], with verifier: ReceiptVerifier) throws -> VerifiedReceipt {
        try verifier.verify(Base64.decode(text.span), at: .samplesAreOlder)
    }
}

/// A large receipt in a folder, for a process that has minted nothing itself.
struct MemorySample {
    let folder: String

    /// The receipt's base64 text.
    var receipt: String { folder + "/receipt.b64" }
    /// The base64 text of a receipt with one purchase.
    var smallReceipt: String { folder + "/small.b64" }
    /// The root that signed both.
    var root: String { folder + "/root.pem" }

    /// Mints a receipt of about so many bytes and writes it to the folder. It holds purchases, not filling, because
    /// purchases take memory beside the receipt itself.
    func write(byteCount: Int, seed: UInt64) throws {
        let pki = ForgedPKI(seed: seed)
        var generator = SplitMix64(seed: seed, purpose: "memory")
        // Ten purchases are repeated; thousands in a row would reach back before the calendar.
        var small = ReceiptContents.random(using: &generator, purchases: 10)
        let purchases = small.purchases
        var large = small
        small.purchases = [purchases[0]]
        let fixed = pki.sign(small).count
        let perPurchase = max(1, (pki.sign(large).count - fixed) / (purchases.count - 1))
        let count = min(Limits().maximumPurchases, max(1, 1 + (byteCount - fixed) / perPurchase))
        large.purchases = (0..<count).map { purchases[$0 % purchases.count] }
        let texts = [
            (pki.rootPEM, root), (ForgedEvidence.der(pki.sign(small)).base64, smallReceipt),
            (ForgedEvidence.der(pki.sign(large)).base64, receipt),
        ]
        for (text, path) in texts { try Data(text.utf8).write(to: URL(filePath: path)) }
    }
}

/// The memory for one receipt.
struct MemoryReport: Hashable, Sendable {
    /// The size of the receipt in DER.
    let bytes: Int
    /// The size of the receipt's text, which was in memory before.
    let base64Bytes: Int
    let purchases: Int
    /// The most memory that decoding and verifying took beside the text.
    let peakBytes: Int

    /// The peak as a multiple of the receipt's size.
    var ratioToSize: Double { Double(peakBytes) / Double(bytes) }
    /// The peak and the text together as a multiple of the receipt's size.
    var ratioWithText: Double { Double(peakBytes + base64Bytes) / Double(bytes) }

    var text: String {
        """
        receipt             \(bytes.grouped) bytes, \(purchases.grouped) purchases
        base64 text         \(base64Bytes.grouped) bytes, in memory before
        decode and verify   \(peakBytes.grouped) bytes at the peak: \(ratioToSize.fixed(2)) times the receipt's size
        with the text       \(ratioWithText.fixed(2)) times the receipt's size
        """
    }
}

extension MemoryReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case bytes, purchases
        case base64Bytes = "base64_bytes"
        case peakBytes = "peak_bytes"
        case ratioToSize = "ratio_to_size"
        case ratioWithText = "ratio_to_size_with_base64"
    }

    func encode(to encoder: any Encoder) throws {
        var memory = encoder.container(keyedBy: CodingKeys.self)
        try memory.encode(bytes, forKey: .bytes)
        try memory.encode(base64Bytes, forKey: .base64Bytes)
        try memory.encode(purchases, forKey: .purchases)
        try memory.encode(peakBytes, forKey: .peakBytes)
        try memory.encode(ratioToSize.rounded(toDecimals: 3), forKey: .ratioToSize)
        try memory.encode(ratioWithText.rounded(toDecimals: 3), forKey: .ratioWithText)
    }
}

/// A file read with as much memory as it has bytes and no more, so that reading it leaves no trace in the peak.
struct ByteFile {
    let path: String

    /// For files that the kernel makes up while they are read, whose size it gives as 0.
    private static let smallestCapacity = 16_384

    var text: String {
        get throws(MemoryError) { String(decoding: try contents(), as: UTF8.self) }
    }

    func contents() throws(MemoryError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .unreadable(path: path, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(path: path, code: errno) }
        let capacity = max(Self.smallestCapacity, status.st_size)
        return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            // SAFETY: `read` writes at most the bytes that are left behind `count`.
            var received = 0
            repeat {
                received = unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), capacity - count)
                count += max(0, received)
            } while received > 0
        }
    }
}

/// The memory of a process as the kernel counts it (proc(5), /proc/PID/status), in bytes.
struct ProcessMemory: Hashable, Sendable {
    /// `VmRSS`: memory in use now.
    let resident: Int
    /// `VmHWM`: the most that was ever in use.
    let peak: Int

    /// Reads the lines of /proc/self/status; nil if one of the two is missing.
    init?(status: String) {
        guard let resident = Self.bytes("VmRSS", in: status), let peak = Self.bytes("VmHWM", in: status) else {
            return nil
        }
        self.resident = resident
        self.peak = peak
    }

    static func current() throws -> ProcessMemory {
        guard let memory = ProcessMemory(status: try ByteFile(path: "/proc/self/status").text) else {
            throw MemoryError.notReported
        }
        return memory
    }

    /// A line has the form `VmHWM:      2204 kB`, where kB stands for 1024 bytes.
    private static func bytes(_ name: String, in status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }
}

/// The reason for which memory could not be measured.
enum MemoryError: Error, Hashable, CustomStringConvertible {
    case notReported
    /// A file cannot be read; the code is an errno.
    case unreadable(path: String, code: Int32)
    case failed(status: Int32)

    var description: String {
        switch self {
        case .notReported: "/proc/self/status holds no VmRSS and VmHWM; memory cannot be measured on this system."
        case .unreadable(let path, let code): "'\(path)' cannot be read (error \(code))."
        case .failed(let status): "The measuring process failed with exit status \(status)."
        }
    }
}
