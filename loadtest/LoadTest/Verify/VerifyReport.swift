// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

struct VerifyReport: Encodable, Sendable {
    let cases: [VerifyCase]
}

/// One row: evidence of one size on a number of threads. Rates are medians over the rounds, of all threads together;
/// ratios are medians of the ratios within each round.
struct VerifyCase: Encodable, Sendable {
    let evidence: ForgedEvidenceKind
    let purchases: Int
    /// The mean size of the evidence before any base64.
    let bytes: Int
    let threads: Int
    /// `warm` or `cold`: the signer's chain was verified before or not.
    let chain: Implementation
    let receiptsPerSecond, floorPerSecond: Double
    @NullIfAbsent var cmsVerifyPerSecond: Double?
    @NullIfAbsent var chainWalkPerSecond: Double?
    /// 1 would mean that everything but the cryptography is free.
    let ratioToFloor: Double
    @NullIfAbsent var ratioToCMSVerify: Double?
    @NullIfAbsent var ratioToChainWalk: Double?
    /// The time of one thread for one piece of evidence.
    let nanosecondsPerReceipt: Double
    /// The speed of decoding base64 text; not part of the other numbers.
    @NullIfAbsent var base64BytesPerSecond: Double?
    let receiptsPerSecondLowest, receiptsPerSecondHighest: Double
    /// The rate as a multiple of one thread's; nil if one thread was not measured.
    let scaling: Double?
    let floorScaling: Double?
    let scalingToFloor: Double?
}

extension VerifyCase {
    init(_ samples: SampleReceipts, _ measurements: Measurements, threads: Int, chain: Implementation) {
        func rates(of implementation: Implementation, _ threads: Int) -> Rates {
            measurements[Entrant(implementation: implementation, threads: threads)] ?? Rates()
        }
        let ours = rates(of: chain, threads), floor = rates(of: .floor, threads)
        let cmsVerify = rates(of: .cmsVerify, threads), chainWalk = rates(of: .chainWalk, threads)
        let textBytes = Double(samples.meanBase64ByteCount)
        let scaling = ours.ratios(to: rates(of: chain, 1))
        let floorScaling = floor.ratios(to: rates(of: .floor, 1))
        self.init(
            evidence: samples.evidence, purchases: samples.purchases, bytes: samples.meanByteCount, threads: threads,
            chain: chain, receiptsPerSecond: ours.median.rounded(toDecimals: 1),
            floorPerSecond: floor.median.rounded(toDecimals: 1), cmsVerifyPerSecond: cmsVerify.figure(1),
            chainWalkPerSecond: chainWalk.figure(1), ratioToFloor: ours.ratio(to: floor).rounded(toDecimals: 4),
            ratioToCMSVerify: ours.ratios(to: cmsVerify).figure(2),
            ratioToChainWalk: ours.ratios(to: chainWalk).figure(2),
            nanosecondsPerReceipt: (Double(threads) * 1e9 / ours.median).rounded(),
            base64BytesPerSecond: rates(of: .base64, threads).map { $0 * textBytes }.figure(0),
            receiptsPerSecondLowest: (ours.min() ?? 0).rounded(toDecimals: 1),
            receiptsPerSecondHighest: (ours.max() ?? 0).rounded(toDecimals: 1), scaling: scaling.figure(3),
            floorScaling: floorScaling.figure(3), scalingToFloor: scaling.ratios(to: floorScaling).figure(3))
    }
}

extension Rates {
    /// Returns the rounded median; nil if nothing was measured.
    fileprivate func figure(_ decimals: Int) -> Double? { isEmpty ? nil : median.rounded(toDecimals: decimals) }
}

// MARK: - The table

extension VerifyReport {
    var table: String {
        let columns = cases.first.map { VerifyColumn.all(of: $0.evidence) } ?? []
        let rows = cases.map { row in columns.map { $0.cell(row) } }
        return AlignedTable(header: columns.map(\.title), rows: rows).text + "\n\n" + legend
    }

    private var legend: String {
        switch cases.first?.evidence {
        case .jws: Self.jwsLegend + Self.commonLegend
        case .notification: Self.notificationLegend + Self.commonLegend
        case .transactionReceipt: Self.transactionReceiptLegend + Self.commonLegend
        case .receipt, nil: Self.receiptLegend
        }
    }

    private static let receiptLegend = """
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

    private static let jwsLegend = """
        receipts/s     signed transactions: text to verified claims, all threads together, median of the turns
        floor/s        the crypto floor: one SHA-256 over the signed text and one P-256 verification, no parsing
        chain walk/s   OpenSSL's X509_verify_cert over the header's certificates each time, then EVP_DigestVerify: three
                       signatures, as in Apple's libraries; the claims are not read

        """

    private static let notificationLegend = """
        receipts/s     notifications: text to verified claims, those of the transaction and the renewal info in it
                       included, all threads together, median of the turns
        floor/s        the crypto floor: one SHA-256 and one P-256 verification for each of the three signed texts, no
                       parsing
        chain walk/s   OpenSSL's X509_verify_cert over the certificates of each header, then EVP_DigestVerify: nine
                       signatures, as in Apple's libraries; the claims are not checked

        """

    private static let transactionReceiptLegend = """
        receipts/s     transaction receipts: property list to a verified purchase, all threads together, median of the turns
        floor/s        the crypto floor: one SHA-256 over the signed bytes and one RSA-2048 verification, no parsing

        """

    private static let commonLegend = """
        chain          warm: the signer's chain was verified before; cold: nothing was
        scaling        the rate against one thread's; floor scaling is the same of the floor, and of floor scaling their
                       ratio
        Ratios are medians within each round. All implementations took turns in one run on the same evidence.
        """
}

private struct VerifyColumn {
    let title: String
    var kinds = ForgedEvidenceKind.allCases
    let cell: (VerifyCase) -> String

    static func all(of evidence: ForgedEvidenceKind) -> [VerifyColumn] { all.filter { $0.kinds.contains(evidence) } }

    private static var all: [VerifyColumn] {
        // The rows of app receipts have no room for more.
        let others = ForgedEvidenceKind.allCases.filter { $0 != .receipt }
        return [
            VerifyColumn(title: "purchases", kinds: [.receipt]) { String($0.purchases) },
            VerifyColumn(title: "bytes") { $0.bytes.grouped },
            VerifyColumn(title: "threads") { String($0.threads) },
            VerifyColumn(title: "chain") { $0.chain.rawValue },
            VerifyColumn(title: "receipts/s") { rate($0.receiptsPerSecond) },
            VerifyColumn(title: "ns/receipt") { rate($0.nanosecondsPerReceipt) },
            VerifyColumn(title: "floor/s") { rate($0.floorPerSecond) },
            VerifyColumn(title: "CMS_verify/s", kinds: [.receipt]) { rate($0.cmsVerifyPerSecond) },
            VerifyColumn(title: "chain walk/s", kinds: [.jws, .notification]) { rate($0.chainWalkPerSecond) },
            VerifyColumn(title: "of floor") { (100 * $0.ratioToFloor).fixed(1) + " %" },
            VerifyColumn(title: "x CMS_verify", kinds: [.receipt]) { ratio($0.ratioToCMSVerify, 1) },
            VerifyColumn(title: "x chain walk", kinds: [.jws, .notification]) { ratio($0.ratioToChainWalk, 1) },
            VerifyColumn(title: "scaling") { ratio($0.scaling, 2) },
            VerifyColumn(title: "floor scaling", kinds: others) { ratio($0.floorScaling, 2) },
            VerifyColumn(title: "of floor scaling", kinds: others) { ratio($0.scalingToFloor, 3) },
            VerifyColumn(title: "slowest..fastest turn") {
                rate($0.receiptsPerSecondLowest) + ".." + rate($0.receiptsPerSecondHighest)
            },
            VerifyColumn(title: "base64 MB/s", kinds: [.receipt, .transactionReceipt]) {
                rate($0.base64BytesPerSecond.map { $0 / 1e6 })
            },
        ]
    }

    private static func rate(_ number: Double?) -> String { number.map { Int($0.rounded()).grouped } ?? "-" }

    private static func ratio(_ number: Double?, _ decimals: Int) -> String { number?.fixed(decimals) ?? "-" }
}
