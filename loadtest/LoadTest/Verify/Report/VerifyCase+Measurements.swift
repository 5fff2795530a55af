// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension VerifyCase {
    /// The row for a number of threads and a state of the chain.
    init(_ samples: SampleReceipts, _ measurements: Measurements, threads: Int, chain: ChainState) {
        let rates = measurements[chain.contender, threads: threads]
        let floor = measurements[.floor, threads: threads]
        let cmsVerify = measurements[.cmsVerify, threads: threads]
        let decoded = measurements[.base64, threads: threads].median * Double(samples.meanBase64ByteCount)
        let scaling = rates.ratio(to: measurements[chain.contender, threads: 1])
        self.init(
            purchases: samples.purchases, bytes: samples.meanByteCount, threads: threads, chain: chain,
            receiptsPerSecond: rates.median.rounded(toDecimals: 1),
            floorPerSecond: floor.median.rounded(toDecimals: 1),
            cmsVerifyPerSecond: cmsVerify.median.rounded(toDecimals: 1),
            ratioToFloor: rates.ratio(to: floor).rounded(toDecimals: 4),
            ratioToCMSVerify: rates.ratio(to: cmsVerify).rounded(toDecimals: 2),
            nanosecondsPerReceipt: (Double(threads) * 1e9 / rates.median).rounded(),
            base64BytesPerSecond: decoded.rounded(),
            lowestReceiptsPerSecond: rates.lowest.rounded(toDecimals: 1),
            highestReceiptsPerSecond: rates.highest.rounded(toDecimals: 1),
            scaling: scaling > 0 ? scaling.rounded(toDecimals: 3) : nil)
    }
}
