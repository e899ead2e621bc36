// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
    import FleetTokenClient
    import Foundation
    import Testing

    @Suite struct EnvironmentProxyTests {
        private func refusal(_ url: String, _ environment: [String: String]) throws -> TokenClientError? {
            let url = try #require(URL(string: url))
            do throws(TokenClientError) {
                try EnvironmentProxy(environment: environment).check(url)
                return nil
            } catch {
                return error
            }
        }

        @Test(arguments: ["http_proxy", "all_proxy", "ALL_PROXY"])
        func `what is meant for this machine is not sent to a proxy in the clear`(variable: String) throws {
            let environment = [variable: "http://proxy.example:3128"]
            let error = try #require(try self.refusal("http://127.0.0.1:8080/token/driver/v?secret=1", environment))
            #expect(error.code == .insecureURL)
            #expect(
                error.message
                    == "\(variable) names a proxy, to which all that is meant for 127.0.0.1 would travel in the clear; add "
                    + "127.0.0.1 to no_proxy, whose hosts are separated by commas.")
            #expect(try self.refusal("HTTP://LocalHost/", environment) != nil)
        }

        @Test(arguments: [
            // Over TLS a proxy learns the host only, and to other machines plain HTTP is a choice of the app's own.
            ("https://127.0.0.1", ["http_proxy": "http://p", "https_proxy": "http://p"]),
            ("http://intranet.example", ["http_proxy": "http://p"]),
            // What libcurl does not read, or takes for nothing.
            ("http://127.0.0.1", ["HTTP_PROXY": "http://p", "https_proxy": "http://p", "http_proxy": ""]),
            ("http://127.0.0.1", [:]),
        ])
        func `what no proxy gets in the clear is sent`(url: String, environment: [String: String]) throws {
            #expect(try self.refusal(url, environment) == nil)
        }

        @Test(arguments: [
            "*", "localhost", "a.example,LOCALHOST", "a.example, localhost", " , a.example ,, localhost , b c",
        ])
        func `an exception for the host is kept to`(exceptions: String) throws {
            #expect(
                try self.refusal("http://localhost:8080", ["http_proxy": "http://p", "no_proxy": exceptions]) == nil)
            #expect(
                try self.refusal(
                    "http://localhost", ["all_proxy": "http://p", "no_proxy": "", "NO_PROXY": exceptions]) == nil)
        }

        @Test(arguments: [
            "127.0.0.1", "local", "a.example,*", "host", "localhost.example",
            // What some versions of libcurl read otherwise than others.
            "a.example localhost", "localhost a.example", "a.example b.example, localhost", "a.example\tb, localhost",
            "a.example,\tlocalhost", "localhost\ta.example",
        ])
        func `no other exception counts`(exceptions: String) throws {
            let environment = ["http_proxy": "http://p", "no_proxy": exceptions]
            #expect(try self.refusal("http://localhost", environment)?.code == .insecureURL)
        }

        @Test func `the list that is in force is named`() throws {
            let environment = ["http_proxy": "http://p", "NO_PROXY": "a.example"]
            #expect(try self.refusal("http://127.0.0.1", environment)?.message.contains("to NO_PROXY,") == true)
            let both = environment.merging(["no_proxy": "b.example"]) { $1 }
            #expect(try self.refusal("http://127.0.0.1", both)?.message.contains("to no_proxy,") == true)
        }
    }
#endif
