// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The least that any verifier must do for a receipt: hash what is signed, and verify one RSA-2048 signature. Both
/// contexts are set up once, and share nothing with those of other threads.
struct FloorWorker: ContenderWorker {
    private let digest = SHA256Context()
    private let signature: SignatureContext

    init(_ key: SignerKey) {
        signature = SignatureContext(key.copied())
    }

    func accepts(_ receipt: SampleReceipt) -> Bool {
        signature.verifies(receipt.signature, over: digest.digest(of: receipt.content))
    }
}
