// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension Timestamp {
    /// Returns the time of the system's clock (`CLOCK_REALTIME`), rounded down to whole milliseconds.
    public static func now() -> Timestamp {
        var time = timespec()
        // SAFETY: the pointer to a local variable is used only during the call.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
