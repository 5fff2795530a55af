// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// One verified item that Apple signed. Values that this kind of item does not sign are nil.
package indirect enum SignedItem: Sendable {
    case appReceipt(VerifiedReceipt)
    case transactionReceipt(VerifiedTransactionReceipt)
    case transaction(VerifiedTransaction)
    case renewalInfo(VerifiedRenewalInfo)
    case appTransaction(VerifiedAppTransaction)

    package var receipt: VerifiedReceipt? { if case .appReceipt(let receipt) = self { receipt } else { nil } }

    package var transactionReceipt: VerifiedTransactionReceipt? {
        if case .transactionReceipt(let receipt) = self { receipt } else { nil }
    }

    package var appTransaction: VerifiedAppTransaction? {
        if case .appTransaction(let appTransaction) = self { appTransaction } else { nil }
    }

    package var bundleID: String? {
        switch self {
        case .appReceipt(let receipt): receipt.bundleID
        case .transactionReceipt(let receipt): receipt.bundleID
        case .transaction(let transaction): transaction.bundleID
        case .renewalInfo: nil
        case .appTransaction(let appTransaction): appTransaction.bundleID
        }
    }

    package var environment: Environment? {
        switch self {
        case .appReceipt(let receipt): receipt.environment
        case .transactionReceipt(let receipt): receipt.environment
        case .transaction(let transaction): transaction.environment
        case .renewalInfo(let renewalInfo): renewalInfo.environment
        case .appTransaction(let appTransaction): appTransaction.environment
        }
    }

    /// True if the item has purchases and does not name their environment.
    var leavesEnvironmentOpen: Bool {
        switch self {
        case .appReceipt, .transactionReceipt, .transaction: environment == nil
        case .renewalInfo, .appTransaction: false
        }
    }

    package var signingTime: Timestamp? {
        switch self {
        case .appReceipt(let receipt): receipt.creationDate
        case .transactionReceipt: nil
        case .transaction(let transaction): transaction.signedDate
        case .renewalInfo(let renewalInfo): renewalInfo.signedDate
        case .appTransaction(let appTransaction): appTransaction.receiptCreationDate
        }
    }

    /// SHA-256 of the signed content. It does not depend on the encoding of the item.
    package var identity: Fingerprint {
        switch self {
        case .appReceipt(let receipt): Fingerprint(of: receipt.signedContent)
        case .transactionReceipt(let receipt): receipt.identity
        case .transaction(let transaction): transaction.jws.identity
        case .renewalInfo(let renewalInfo): renewalInfo.jws.identity
        case .appTransaction(let appTransaction): appTransaction.jws.identity
        }
    }

    package var transactions: TransactionList {
        switch self {
        case .appReceipt(let receipt): TransactionList(receipt.purchases)
        case .transactionReceipt(let receipt): TransactionList([Transaction(receipt)])
        case .transaction(let transaction): TransactionList([Transaction(transaction)])
        case .renewalInfo, .appTransaction: TransactionList([])
        }
    }

    package var renewals: [Renewal] {
        switch self {
        case .renewalInfo(let renewalInfo): [Renewal(renewalInfo)]
        case .appReceipt, .transactionReceipt, .transaction, .appTransaction: []
        }
    }

    /// The value that binds the item to a device.
    var deviceVerification: DeviceVerification? {
        switch self {
        case .transaction(let transaction): transaction.deviceBinding
        case .appTransaction(let appTransaction): appTransaction.deviceBinding
        case .appReceipt, .transactionReceipt, .renewalInfo: nil
        }
    }

    var byteCount: Int {
        switch self {
        case .appReceipt(let receipt): receipt.byteCount
        case .transactionReceipt(let receipt): receipt.byteCount
        case .transaction(let transaction): Self.byteCount(of: transaction.jws)
        case .renewalInfo(let renewalInfo): Self.byteCount(of: renewalInfo.jws)
        case .appTransaction(let appTransaction): Self.byteCount(of: appTransaction.jws)
        }
    }

    /// The payload, and its claims once more as values.
    private static func byteCount(of jws: VerifiedJWS) -> Int {
        2 * jws.payload.count + MemoryLayout<VerifiedTransaction>.size
    }
}
