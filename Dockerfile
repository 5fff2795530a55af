# SPDX-License-Identifier: Apache-2.0

# Two images: `gateway`, the one to run, and `loadtest` (`--target loadtest`), which has Apple's simulator as well. Each
# contains only what it runs: .ci/dist/root writes these files for `make dist`, too, whose image `.ci/image` checks
# without a container engine.

FROM swift:6.3-bookworm AS build
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends \
        ca-certificates libcurl4-openssl-dev libhiredis-dev libssl-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# A layer of its own, so that a change of the sources does not fetch the dependencies again.
COPY Package.swift ./
COPY .ci/pin .ci/tested-versions .ci/
RUN .ci/pin
# SwiftPM wants the folders of all targets, tests included, whatever it builds.
COPY Sources Sources
COPY Tests Tests
COPY loadtest loadtest
COPY .ci/dist .ci/dist
ARG REVISION=
RUN .ci/dist/program receipt-gateway /out/receipt-gateway \
    && .ci/dist/program receipt-loadtest /out/receipt-loadtest \
    && .ci/dist/root /out/receipt-gateway /out/gateway \
    && .ci/dist/root /out/receipt-loadtest /out/loadtest

FROM scratch AS loadtest
COPY --from=build /out/loadtest /
COPY loadtest/scenarios /usr/share/receipt-gateway/scenarios
ENV PATH=/usr/local/bin
# A number, so that Kubernetes can tell that it is not root. Nothing on disk belongs to it; nothing is ever written.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/usr/local/bin/receipt-loadtest"]
CMD ["--help"]

FROM scratch AS gateway
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="receipt-gateway" \
      org.opencontainers.image.description="Verifies App Store receipts for app backends" \
      org.opencontainers.image.source="https://github.com/receipt-gateway/receipt-gateway" \
      org.opencontainers.image.documentation="https://github.com/receipt-gateway/receipt-gateway/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /out/gateway /
ENV PATH=/usr/local/bin
USER 65532:65532
WORKDIR /
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
# Kubernetes has probes of its own; this one is for Docker and Podman. It reads GATEWAY_ADMIN_PORT and the file that
# GATEWAY_CONFIG_FILE names, but no file that only the arguments of `serve` name.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["/usr/local/bin/receipt-gateway", "health"]
ENTRYPOINT ["/usr/local/bin/receipt-gateway"]
CMD ["serve"]
