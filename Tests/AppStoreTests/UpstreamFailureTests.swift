// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPClient
import Testing

@testable import AppStore

struct UpstreamFailureTests {
    /// Only a certificate that does not verify is a sign of another server: it pages the engineer on call.
    @Test(
        arguments: [
            (.tlsHandshake, .reset), (.tlsVerification, .tls), (.trustStore, .tls), (.reset, .reset),
            (.connect, .unreachable),
        ] as [(TransportError, UpstreamFailure)])
    func `a connection that ends in the handshake says nothing about a certificate`(
        error: TransportError, failure: UpstreamFailure
    ) {
        #expect(UpstreamFailure(error) == failure)
    }
}
