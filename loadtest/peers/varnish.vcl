# SPDX-License-Identifier: Apache-2.0
#
# Varnish with bodyaccess (varnish-modules): a cache for POST, hashed by the body. `receipt-loadtest bench` fills in what
# stands in double braces.

vcl 4.1;

import std;
import bodyaccess;

backend verification {
    .host = "127.0.0.1";
    .port = "{{upstream}}";
}

sub vcl_recv {
    # A body that does not fit cannot be hashed, and must not be looked up without it.
    if (req.method != "POST" || !std.cache_req_body(64KB)) {
        return (pass);
    }
    return (hash);
}

sub vcl_hash {
    bodyaccess.hash_req_body();
}

sub vcl_backend_fetch {
    # Varnish makes GET of what it caches.
    set bereq.method = "POST";
}

sub vcl_backend_response {
    set beresp.ttl = 1h;
}
