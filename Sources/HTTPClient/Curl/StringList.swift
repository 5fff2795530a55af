// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// The owner of one `curl_slist`.
///
/// SAFETY: libcurl copies each line; the list is freed once, with its owner, which the handle that points to it keeps.
@safe final class StringList {
    private var list: UnsafeMutablePointer<curl_slist>?

    init(_ lines: [String]) throws(TransportError) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else { throw .internal(code: 0) }
            unsafe list = longer
        }
    }

    deinit { unsafe curl_slist_free_all(list) }

    func withList<Value>(_ body: (UnsafeMutablePointer<curl_slist>?) -> Value) -> Value {
        unsafe body(list)
    }
}
