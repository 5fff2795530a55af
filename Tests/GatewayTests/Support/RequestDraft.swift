// SPDX-License-Identifier: Apache-2.0

import Gateway
import Resilience

/// A request that a test changes before it is sent.
struct RequestDraft {
    let subject: RequestSubject
    var options: VerificationOptions
    var client: ClientDraft
    var reservation: (any MemoryReservation)?

    init(_ subject: RequestSubject, mode: Mode = .auto) { self.init(VerificationRequest(subject, mode: mode)) }

    init(_ request: VerificationRequest) {
        (subject, options) = (request.subject, request.options)
        (client, reservation) = (ClientDraft(request.client), request.reservation)
    }

    var request: VerificationRequest {
        VerificationRequest(subject, options: options, client: client.client, reservation: reservation)
    }
}

/// A client that a test changes.
struct ClientDraft {
    var permittedApps: PermittedApps
    var charges: [RateCharge]
    var onAdmission: @Sendable (RateAdmission) -> Void
    var inFlight: InFlightLimit?
    var unknownIDs: RateCharge?
    var onUnknownIDs: @Sendable (RateAdmission) -> Void

    init(_ client: RequestClient) {
        (permittedApps, charges, onAdmission) = (client.permittedApps, client.charges, client.onAdmission)
        (inFlight, unknownIDs, onUnknownIDs) = (client.inFlight, client.unknownIDs, client.onUnknownIDs)
    }

    var client: RequestClient {
        RequestClient(
            permittedApps: permittedApps, charges: charges, onAdmission: onAdmission, inFlight: inFlight,
            unknownIDs: unknownIDs, onUnknownIDs: onUnknownIDs)
    }
}

extension VerificationRequest {
    /// Returns the same request of a changed client.
    func withClient(_ change: (inout ClientDraft) -> Void) -> VerificationRequest {
        var draft = RequestDraft(self)
        change(&draft.client)
        return draft.request
    }
}
