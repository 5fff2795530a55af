// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The form API: `POST /api` and `POST /apiencrypted`.
package struct FormConfiguration: Hashable, Sendable {
    /// One request body. A receipt of 105 KB takes 420 KB if every character is percent-encoded.
    package var bodyLimit = ByteCount.mebibytes(1)
    package var statuses = FormStatuses.ok
    package var envelope = FormEnvelope.text
    package var keyForm = EncryptionKeyForm.encoded

    package init() {}
}

/// The HTTP statuses of answers whose JSON has a status of its own.
package enum FormStatuses: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// 200: clients read the JSON of every answer.
    case ok = "200"
    /// 401, 403 and 500 as in the JSON; 200 for Apple's.
    case same
}

package enum FormEnvelope: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// The base64 alone, as `text/plain`.
    case text
    case json
}
