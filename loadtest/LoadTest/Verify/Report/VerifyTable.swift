// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A report for readers.
struct VerifyTable {
    let report: VerifyReport

    var text: String {
        var table = TextTable(header: Self.header)
        for row in report.cases { table.append(row.cells) }
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
        floor/s        the crypto floor: one SHA-256 over the signed octets and one RSA-2048 verification, no parsing
        CMS_verify/s   OpenSSL's d2i_CMS_bio and CMS_verify
        of floor, x CMS_verify, scaling (against one thread)
                       medians of the ratios within each round, because a shared machine has fast and slow rounds
        base64 MB/s    text decoded per second, in millions of bytes; a gateway pays for it beside receipts/s
        All contenders took turns in one run on the same receipts. Allocations are not counted.
        """
}

extension VerifyCase {
    /// One cell for each column.
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
