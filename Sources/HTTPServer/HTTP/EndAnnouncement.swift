// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
internal import HTTPTypes
internal import Receipts

// Apple announces the end of its endpoints to us; these fields pass it on to our callers. `POST /verifyReceipt` is on its
// way out together with Apple's, and `GET /v1/status` is about nothing else: their answers always announce. `POST
// /v1/verify` goes on past that day without Apple's part, so there only answers that came from Apple do.

/// The most of Apple's words that is passed on: callers have limits for a header of their own.
enum EndAnnouncementLimits {
    /// Bytes of `Link`; the links that do not fit are left out.
    static let linkBytes = 2048
}

extension HTTPFields {
    /// Adds what is known of the end of the endpoint an answer depends on: `Deprecation` (RFC 9745), `Sunset` (RFC 8594)
    /// and `Link` (RFC 8288). Nothing where nothing is known.
    package mutating func announce(_ state: UpstreamLifecycle.State) {
        guard state.dates != LifecycleDates() || !state.links.isEmpty else { return }
        self[.deprecation] = state.dates.deprecationField
        self[.sunset] = state.dates.sunset.flatMap { HTTPDate.text($0) }
        self[.link] = state.linkField
    }
}

extension LifecycleDates {
    /// A date of structured fields (RFC 9651 §3.3.7), in whole seconds.
    fileprivate var deprecationField: String? {
        guard let deprecation else { return nil }
        // RFC 9745 §4: the sunset is not earlier than the deprecation. Whatever is gone then is deprecated by then.
        return "@\(min(deprecation, sunset ?? deprecation).millisecondsSince1970 / 1000)"
    }
}

extension UpstreamLifecycle.State {
    fileprivate var linkField: String? {
        var field = ""
        for link in links {
            let value = "<\(link.target)>; rel=\"\(link.relation.rawValue)\""
            let longer = field.isEmpty ? value : "\(field), \(value)"
            if longer.utf8.count <= EndAnnouncementLimits.linkBytes { field = longer }
        }
        return field.isEmpty ? nil : field
    }
}
