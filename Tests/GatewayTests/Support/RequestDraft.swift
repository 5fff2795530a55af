// SPDX-License-Identifier: Apache-2.0

import Gateway

/// A request that a test changes before it is sent.
struct RequestDraft {
    let subject: RequestSubject
    var options: VerificationOptions
    var client: RequestClient
    var reservation: (any MemoryReservation)?

    init(_ subject: RequestSubject, mode: Mode = .auto) { self.init(VerificationRequest(subject, mode: mode)) }

    init(_ request: VerificationRequest) {
        (subject, options) = (request.subject, request.options)
        (client, reservation) = (request.client, request.reservation)
    }

    var request: VerificationRequest {
        VerificationRequest(subject, options: options, client: client, reservation: reservation)
    }
}

extension VerificationRequest {
    /// Returns the same request of a changed client.
    func withClient(_ change: (inout RequestClient) -> Void) -> VerificationRequest {
        var client = client
        change(&client)
        return of(client, holding: reservation)
    }
}
