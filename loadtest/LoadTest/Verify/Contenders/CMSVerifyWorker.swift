// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a program does that leaves receipts to OpenSSL; the store of roots is made once and shared.
struct CMSVerifyWorker: ContenderWorker {
    let roots: RootStore

    func accepts(_ receipt: SampleReceipt) -> Bool {
        CMSMessage(der: receipt.der)?.isVerified(by: roots) ?? false
    }
}
