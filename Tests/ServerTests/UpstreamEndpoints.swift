// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway

extension UpstreamEndpoint {
    static let production = UpstreamEndpoint(.verifyReceipt, .production)
    static let sandbox = UpstreamEndpoint(.verifyReceipt, .sandbox)
}
