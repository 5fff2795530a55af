// SPDX-License-Identifier: Apache-2.0

internal import CCurl
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads the addresses that libcurl is about to connect to.
enum SocketAddress {
    static func isGloballyReachable(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        unsafe ipAddress(address)?.isGloballyReachable ?? false
    }

    /// Opens a socket for the address, closed on exec; libcurl makes it non-blocking and closes it.
    static func openSocket(for address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let kind = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return unsafe socket(address.pointee.family, kind, address.pointee.protocol)
    }

    private static func ipAddress(_ address: UnsafeMutablePointer<curl_sockaddr>) -> IPAddress? {
        switch unsafe address.pointee.family {
        case AF_INET: unsafe IPAddress(bytes(address, at: \sockaddr_in.sin_addr))
        case AF_INET6: unsafe IPAddress(bytes(address, at: \sockaddr_in6.sin6_addr))
        default: nil
        }
    }

    /// SAFETY: `addrlen` is libcurl's length of the address in bytes; they begin at `addr`, whose declared type is
    /// shorter than an IPv6 address.
    private static func bytes<Whole, Part>(
        _ address: UnsafeMutablePointer<curl_sockaddr>, at part: KeyPath<Whole, Part>
    ) -> [UInt8] {
        guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr),
            let offset = MemoryLayout<Whole>.offset(of: part),
            unsafe Int(address.pointee.addrlen) >= offset + MemoryLayout<Part>.size
        else { return [] }
        let bytes = unsafe UnsafeRawPointer(address) + start + offset
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: MemoryLayout<Part>.size))
    }
}

extension HTTPTransport {
    /// The default file of trusted authorities that libcurl was built with; nil if it has none.
    package static var systemCAFile: String? {
        // SAFETY: libcurl keeps the text for the life of the process.
        unsafe CCurl_default_authorities().map { unsafe String(cString: $0) }
    }

    /// Checks at start that the file of authorities is readable, so that a typing error is found before the first
    /// request.
    static func check(caFile: String?) throws(TransportError) {
        if let caFile, unsafe access(caFile, R_OK) != 0 { throw .trustStore }
    }
}
