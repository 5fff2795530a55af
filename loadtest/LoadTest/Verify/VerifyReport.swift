// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The results of `verify --format json`.
struct VerifyReport: Encodable, Sendable {
    let cases: [VerifyCase]
}

/// One row: receipts of one size on a number of threads. Rates are medians over the rounds, of all threads together;
/// ratios are medians of the ratios within each round.
struct VerifyCase: Encodable, Sendable {
    let purchases: Int
    /// The mean size of a receipt in DER.
    let bytes: Int
    let threads: Int
    /// `warm` or `cold`: the signer's chain was verified before or not.
    let chain: Implementation
    let receiptsPerSecond: Double
    let floorPerSecond: Double
    let cmsVerifyPerSecond: Double
    /// 1 would mean that everything but the cryptography is free.
    let ratioToFloor: Double
    let ratioToCMSVerify: Double
    /// The time of one thread for one receipt.
    let nanosecondsPerReceipt: Double
    /// The speed of decoding base64 text; not part of the other numbers.
    let base64BytesPerSecond: Double
    let lowestReceiptsPerSecond: Double
    let highestReceiptsPerSecond: Double
    /// The rate as a multiple of one thread's; nil if one thread was not measured.
    let scaling: Double?

    enum CodingKeys: String, CodingKey {
        case purchases, bytes, threads, chain, scaling
        case receiptsPerSecond = "receipts_per_second"
        case floorPerSecond = "floor_per_second"
        case cmsVerifyPerSecond = "cms_verify_per_second"
        case ratioToFloor = "ratio_to_floor"
        case ratioToCMSVerify = "ratio_to_cms_verify"
        case nanosecondsPerReceipt = "nanoseconds_per_receipt"
        case base64BytesPerSecond = "base64_bytes_per_second"
        case lowestReceiptsPerSecond = "receipts_per_second_lowest"
        case highestReceiptsPerSecond = "receipts_per_second_highest"
    }
}

extension VerifyCase {
    init(_ samples: SampleReceipts, _ measurements: Measurements, threads: Int, chain: Implementation) {
        func rates(of implementation: Implementation, _ threads: Int) -> Rates {
            measurements[Entrant(implementation: implementation, threads: threads)] ?? Rates()
        }
        let ours = rates(of: chain, threads)
        let floor = rates(of: .floor, threads), cmsVerify = rates(of: .cmsVerify, threads)
        let decoded = rates(of: .base64, threads).median * Double(samples.meanBase64ByteCount)
        let scaling = ours.ratio(to: rates(of: chain, 1))
        self.init(
            purchases: samples.purchases, bytes: samples.meanByteCount, threads: threads, chain: chain,
            receiptsPerSecond: ours.median.rounded(toDecimals: 1),
            floorPerSecond: floor.median.rounded(toDecimals: 1),
            cmsVerifyPerSecond: cmsVerify.median.rounded(toDecimals: 1),
            ratioToFloor: ours.ratio(to: floor).rounded(toDecimals: 4),
            ratioToCMSVerify: ours.ratio(to: cmsVerify).rounded(toDecimals: 2),
            nanosecondsPerReceipt: (Double(threads) * 1e9 / ours.median).rounded(),
            base64BytesPerSecond: decoded.rounded(),
            lowestReceiptsPerSecond: ours.lowest.rounded(toDecimals: 1),
            highestReceiptsPerSecond: ours.highest.rounded(toDecimals: 1),
            scaling: scaling > 0 ? scaling.rounded(toDecimals: 3) : nil)
    }
}

extension VerifyReport {
    /// The cases for readers.
    var table: String {
        var table = TextTable(header: Self.header)
        for row in cases { table.append(row.cells) }
        return table.text + "\n\n" + Self.legend
    }

    private static let header = [
        "purchases", "bytes", "threads", "chain", "receipts/s", "ns/receipt", "floor/s", "CMS_verify/s", "of floor",
        "x CMS_verify", "scaling", "slowest..fastest turn", "base64 MB/s",
    ]

    private static let legend = """
        receipts/s     DER bytes to a verified receipt, all threads together, median of the turns; ns/receipt is the
                       time one thread spends on one receipt
        chain          warm: the signer's chain was verified before; cold: nothing was
        floor/s        the crypto floor: one SHA-256 over the signed bytes and one RSA-2048 verification, no parsing
        CMS_verify/s   OpenSSL's d2i_CMS_bio and CMS_verify
        of floor, x CMS_verify, scaling (against one thread)
                       medians of the ratios within each round, because a shared machine has fast and slow rounds
        base64 MB/s    text decoded per second, in millions of bytes; a gateway pays for it beside receipts/s
        All implementations took turns in one run on the same receipts. Allocations are not counted.
        """
}

extension VerifyCase {
    fileprivate var cells: [String] {
        [
            String(purchases), bytes.grouped, String(threads), chain.rawValue,
            Self.rate(receiptsPerSecond), Self.rate(nanosecondsPerReceipt), Self.rate(floorPerSecond),
            Self.rate(cmsVerifyPerSecond), (100 * ratioToFloor).fixed(1) + " %", ratioToCMSVerify.fixed(1),
            scaling?.fixed(2) ?? "-",
            Self.rate(lowestReceiptsPerSecond) + ".." + Self.rate(highestReceiptsPerSecond),
            Self.rate(base64BytesPerSecond / 1e6),
        ]
    }

    private static func rate(_ number: Double) -> String {
        Int(number.rounded()).grouped
    }
}
