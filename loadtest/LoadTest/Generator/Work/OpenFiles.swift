// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How many files this process may have open; each connection is one.
enum OpenFiles {
    /// Asks for as many as the system gives, and says whether connections and some more fit.
    static func makeRoom(for connections: Int) throws(LoadRunError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard connections + others <= Int(clamping: limit.rlim_max) else {
            throw .tooManyConnections(most: max(0, Int(clamping: limit.rlim_max) - others))
        }
    }

    /// Event loops, standard streams, metrics.
    private static let others = 100
}
