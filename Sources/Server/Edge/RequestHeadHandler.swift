// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1

/// Looks at the header of HTTP/1 before it becomes an `HTTPRequest`, which has no version, one authority, and not every
/// field as it was sent. What can be read in two ways goes no further. Requests after which the client will not go on
/// get `Connection: close`, for HTTP/1.0 without keep-alive and all the spellings of close (RFC 9112 §9.3), so that
/// behind it one comparison tells.
final class RequestHeadHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// A refused header travels as an error. What follows it goes on to the edge, which reads no more of a connection
    /// it has refused.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if let refusal = head.refusal { return context.fireErrorCaught(refusal) }
        guard !head.isKeepAlive else { return context.fireChannelRead(data) }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Puts the handler in front of the conversion to `HTTPRequest`, which drops the version, and leaves.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = Any

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
                try pipeline.addHandler(RequestHeadHandler(), position: .before(codec))
            } catch {
                context.fireErrorCaught(error)
            }
            pipeline.removeHandler(context: context, promise: nil)
        }
    }
}

extension HTTPRequestHead {
    /// Why the request is refused, whatever it asks for. The decoder has refused a `Content-Length` that is no number or
    /// stands twice, and one beside `Transfer-Encoding`.
    fileprivate var refusal: EdgeRefusal? {
        guard hasOneHost, hasKnownTarget else { return .malformed }
        return hasKnownTransferCoding ? nil : .transferCoding
    }

    /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1, never more, and nothing in it but a host and a port.
    private var hasOneHost: Bool {
        let hosts = headers["host"]
        guard hosts.count == 1 || (hosts.isEmpty && version == .http1_0) else { return false }
        return hosts.allSatisfy { $0.utf8.allSatisfy(\.isPartOfHost) }
    }

    /// RFC 9112 §3.2.1 to §3.2.4: a path, a whole URL, the asterisk of OPTIONS, or the authority of CONNECT.
    private var hasKnownTarget: Bool {
        let schemeEnd = uri.utf8.firstIndex(of: UInt8(ascii: ":")) ?? uri.startIndex
        switch method {
        case _ where uri.hasPrefix("/"), .CONNECT: return true
        case .OPTIONS where uri == "*": return true
        default:
            return ["http", "https"].contains(uri[..<schemeEnd].lowercased()) && uri[schemeEnd...].hasPrefix("://")
        }
    }

    /// RFC 9112 §6.1: chunked is the only coding that is read here, and HTTP/1.0 knows none.
    private var hasKnownTransferCoding: Bool {
        let codings = headers["transfer-encoding"]
        return codings.isEmpty || (codings.count == 1 && codings[0].lowercased() == "chunked" && version != .http1_0)
    }
}

extension UInt8 {
    /// `uri-host [ ":" port ]` (RFC 3986 §3.2.2): unreserved and sub-delims, percent, brackets and colons. The comma is
    /// left out, because a list of hosts is no host.
    fileprivate var isPartOfHost: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%:[]!$&'()*+;=".utf8.contains(self)
        }
    }
}
