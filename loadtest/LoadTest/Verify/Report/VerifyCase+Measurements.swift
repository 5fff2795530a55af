// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension VerifyCase {
    /// The row for a number of threads and a state of the chain.
    init(_ samples: SampleReceipts, _ measurements: Measurements, threads: Int, chain: ChainState) {
        let rates = measurements[chain.contender, threads: threads] ?? Rates()
        let floor = measurements.median(.floor, threads: threads)
        let cmsVerify = measurements.median(.cmsVerify, threads: threads)
        let decoded = measurements.median(.base64, threads: threads) * Double(samples.meanBase64ByteCount)
        let alone = measurements[chain.contender, threads: 1]
        self.init(
            purchases: samples.purchases, bytes: samples.meanByteCount, threads: threads, chain: chain,
            receiptsPerSecond: rates.median.rounded(toDecimals: 1),
            floorPerSecond: floor.rounded(toDecimals: 1),
            cmsVerifyPerSecond: cmsVerify.rounded(toDecimals: 1),
            ratioToFloor: (rates.median / floor).rounded(toDecimals: 4),
            ratioToCMSVerify: (rates.median / cmsVerify).rounded(toDecimals: 2),
            nanosecondsPerReceipt: (Double(threads) * 1e9 / rates.median).rounded(),
            base64BytesPerSecond: decoded.rounded(),
            lowestReceiptsPerSecond: rates.lowest.rounded(toDecimals: 1),
            highestReceiptsPerSecond: rates.highest.rounded(toDecimals: 1),
            scaling: alone.map { (rates.median / $0.median).rounded(toDecimals: 3) })
    }
}
