// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

extension JobResult: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.data(&json)
        try form.string(&verdict)
        try form.optional(&reason, of: "")
        try form.bit(&isDegraded)
        try form.optional(&environment, of: .production)
        try form.optional(&bundleID, of: "")
        try form.list(&originalTransactionIDs, of: "")
    }

    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(json: [], verdict: "")
        try read(storedBytes)
    }
}
