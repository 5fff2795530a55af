// SPDX-License-Identifier: Apache-2.0

import Gateway

extension UpstreamEndpoint {
    static let production = UpstreamEndpoint(.verifyReceipt, .production)
    static let sandbox = UpstreamEndpoint(.verifyReceipt, .sandbox)
}
