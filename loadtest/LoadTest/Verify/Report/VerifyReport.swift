// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `verify --format json` prints.
struct VerifyReport: Encodable, Sendable {
    let cases: [VerifyCase]
}

/// Whether the signer's chain was verified before.
enum ChainState: String, CaseIterable, Encodable, Sendable {
    case warm, cold

    var contender: Contender {
        switch self {
        case .warm: .warm
        case .cold: .cold
        }
    }
}

/// One row: receipts of one size on a number of threads. Rates are medians over the rounds, of all threads together;
/// ratios are medians of the ratios within each round.
struct VerifyCase: Encodable, Sendable {
    /// Purchases in each receipt.
    let purchases: Int
    /// Size of a receipt in DER, on average.
    let bytes: Int
    let threads: Int
    let chain: ChainState
    let receiptsPerSecond: Double
    /// The crypto floor, in receipts per second.
    let floorPerSecond: Double
    /// `CMS_verify`, in receipts per second.
    let cmsVerifyPerSecond: Double
    /// 1 would mean that everything but the cryptography is free.
    let ratioToFloor: Double
    let ratioToCMSVerify: Double
    /// How long one thread is busy with one receipt.
    let nanosecondsPerReceipt: Double
    /// Bytes of base64 text decoded per second; not part of the other numbers.
    let base64BytesPerSecond: Double
    /// The slowest turn, in receipts per second.
    let lowestReceiptsPerSecond: Double
    /// The fastest turn, in receipts per second.
    let highestReceiptsPerSecond: Double
    /// How many times the receipts per second of one thread; nil if one thread was not measured.
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
