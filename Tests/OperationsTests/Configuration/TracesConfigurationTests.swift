// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPClient
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// The settings of traces, by the gateway's names and by OpenTelemetry's.
@Suite("The settings of traces")
struct TracesConfigurationTests {
    private static let on = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"]

    @Test func `without an endpoint nothing is exported, whatever else is set`() throws {
        #expect(try loadConfiguration().traces == TracesConfiguration())
        let other = [
            "OTEL_TRACES_SAMPLER": "xray", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_SERVICE_NAME": "x",
            "OTEL_TRACES_EXPORTER": "jaeger",
        ]
        #expect(try loadConfiguration(other).traces == TracesConfiguration())
    }

    @Test(arguments: [
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"], "http://c:4318/v1/traces"),
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/otlp/"], "https://c/otlp/v1/traces"),
        (["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318"], "http://c:4318/"),
        (
            ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:1/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://d"],
            "http://c:1/x"
        ),
        (
            ["GATEWAY_TRACES_ENDPOINT": "http://c:2/v1/traces", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://d"],
            "http://c:2/v1/traces"
        ),
    ])
    func `the variables of OpenTelemetry name the endpoint`(environment: [String: String], url: String) throws {
        #expect(try loadConfiguration(environment).traces.endpoint?.text == url)
    }

    @Test(arguments: [["OTEL_SDK_DISABLED": "true"], ["OTEL_TRACES_EXPORTER": "none"]])
    func `OpenTelemetry's switches turn its variables off`(off: [String: String]) throws {
        #expect(try loadConfiguration(Self.on.merging(off) { $1 }).traces == TracesConfiguration())
    }

    @Test(arguments: ["otlp", ""]) func `the exporter of OpenTelemetry's own protocol is accepted`(name: String) throws
    {
        #expect(try loadConfiguration(Self.on.merging(["OTEL_TRACES_EXPORTER": name]) { $1 }).traces.endpoint != nil)
    }

    @Test func `the gateway's own endpoint is there, whatever other programs export by`() throws {
        let environment = ["GATEWAY_TRACES_ENDPOINT": "http://c:2/v1/traces", "OTEL_TRACES_EXPORTER": "console"]
        #expect(try loadConfiguration(environment).traces.endpoint?.text == "http://c:2/v1/traces")
    }

    @Test func `each variable has its setting, and the environment wins over the file`() throws {
        let environment = [
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01",
            "OTEL_SERVICE_NAME": "receipts", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,k8s.pod.name=pod-1,note=a%2Cb",
        ]
        let file = "gateway:\n  traces: {endpoint: 'https://c/v1/traces', ratio: 0.5, headers: 'x-key=a%20b'}\n"
        let traces = try loadConfiguration(environment, file: file).traces
        #expect(traces.timeout == .milliseconds(2500))
        #expect(traces.traceSampler == TraceSampler(.parentOrRatio, ratio: 0.01))
        #expect(traces.transportHeaders == [TransportHeader(name: "x-key", value: "a b")])
        let resource = Dictionary(uniqueKeysWithValues: traces.resource.map { ($0.name, $0.value) })
        #expect(resource["service.name"] == "receipts" && resource["note"] == "a,b")
        #expect(resource["k8s.pod.name"] == "pod-1" && resource["service.instance.id"]?.count == 32)
    }

    @Test func `the name of the service may be a resource attribute`() throws {
        let traces = try loadConfiguration(["OTEL_RESOURCE_ATTRIBUTES": "service.name=shop"].merging(Self.on) { $1 })
            .traces
        #expect(traces.resource.filter { $0.name == "service.name" }.map { $0.value } == ["shop"])
    }

    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "as JSON over HTTP only"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf", "as JSON over HTTP only"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317", "port 4317 is for gRPC"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "not the URL of a collector"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "in OTEL_EXPORTER_OTLP_ENDPOINT without /v1/traces"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://user:pw@collector:4318/", "credentials belong in"),
        ("OTEL_TRACES_EXPORTER", "jaeger", "by OTLP only, not by \"jaeger\""),
        ("OTEL_TRACES_EXPORTER", "otlp,console", "set it to otlp"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "is not accepted"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5", "is out of range"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "without compression"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem", "without compression and client certificates"),
        ("GATEWAY_TRACES_ENDPOINT", "http://collector:4318", "the path is missing"),
    ])
    func `a value that does not fit is named with its variable`(name: String, value: String, fault: String) throws {
        let problems = configurationProblems(Self.on.merging([name: value]) { $1 })
        #expect(problems.count == 1)
        let problem = try #require(problems.first)
        #expect(problem.hasPrefix("\(name): ") && problem.contains(fault), "\(problem)")
    }

    @Test func `headers need TLS beyond this machine, and are never shown`() throws {
        let headers = ["OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abcdef"]
        let problems = configurationProblems(Self.on.merging(headers) { $1 })
        #expect(problems.count == 1 && problems.first?.contains("without TLS") == true, "\(problems)")
        for url in ["https://collector/", "http://127.0.0.1:4318", "http://[::1]:4318"] {
            let configuration = try loadConfiguration(headers.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": url]) { $1 })
            #expect(!configuration.effectiveText.contains("abcdef"))
        }
    }

    @Test(arguments: ["authorization", "=x", "a=%zz", "content-type=x", "content-length=1", "a b=c", "x=%0D%0Ay"])
    func `a header that cannot be sent is a problem without its text`(headers: String) throws {
        let problem = try #require(
            configurationProblems([
                "GATEWAY_TRACES_ENDPOINT": "https://c/v1/traces", "GATEWAY_TRACES_HEADERS": headers,
            ]).first)
        #expect(problem.hasPrefix("GATEWAY_TRACES_HEADERS: entry 1 of the list"), "\(problem)")
    }
}
