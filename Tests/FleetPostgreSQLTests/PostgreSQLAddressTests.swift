// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetPostgreSQL

@Suite struct PostgreSQLAddressTests {
    @Test(arguments: [
        ("postgresql://u@a/d", 5, "5"), ("postgresql://u@a,b/d", 5, "2"), ("postgresql://u@a,b/d", 9, "4"),
        ("postgresql://u@a,b,c,d/d", 5, "2"), ("host=a,b hostaddr=10.0.0.1,10.0.0.2", 8, "4"),
        ("postgresql://u@a,b/d?connect_timeout=7", 5, "7"), ("postgresql://u@a/d?connect_timeout=0", 5, "5"),
        ("postgresql://u@a/d?connect_timeout=-1", 5, "5"), ("postgresql://u@a/d?connect_timeout=soon", 5, "soon"),
    ])
    func `each host has what the address says, or its share of the limit`(
        text: String, limit: Int, seconds: String
    ) throws {
        #expect(try PostgreSQLAddress(text).connectTimeout(sharing: .seconds(limit)) == seconds)
    }

    @Test(arguments: [
        "postgresql://u:gehe/im@127.0.0.1:1/db", "postgresql://u:gehe@im@127.0.0.1:1/db",
        "postgresql://u:12/gehe@im@h/d",
        "postgresql://u:gehe@a,im@b/d", "postgresql://u:x@im:1@h/gehe", "postgres://u:x@im/gehe@h/d",
        "postgresql://u:gehe/im", "postgresql://u:12/im@gehe", "postgresql://u@h:gehe/im@", "host=h port=gehe",
        "postgresql://u@h:0/gehe", "postgresql://u@h:70000/gehe", "postgresql://u@a:1,b:gehe/d",
        "postgresql://db.example:5432?user=app@corp.invalid&password=gehe", "postgresql://h:1?password=x@gehe",
        "postgresql://u@h/d?port=gehe", "postgresql+x://u:gehe@im/d", "gehe@im@",
    ])
    func `an address that is not escaped is malformed, and nothing of it is told`(text: String) throws {
        let error = try #require(throws: PostgreSQLError.self) { try PostgreSQLAddress(text) }
        #expect(error.code == .invalidAddress)
        #expect(error.message.contains("is malformed") && error.message.contains("%XX for special characters"))
        #expect(!"\(error)".contains("gehe") && !"\(error)".contains("im@"))
    }

    @Test(arguments: [
        ("postgresql://u:gehe%2Fim%40@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql://a%40b:x@h/c%40d", "postgresql://a@b@h/c@d"),
        ("postgresql://u:a?b#c:d@h/d", "postgresql://u@h/d"),
        ("postgresql://u@a:1,b:,c/d", "postgresql://u@a:1,b,c/d"),
        ("postgresql://h/d?user=u@a&password=gehe@im", "postgresql://u@a@h/d"),
        ("host=@abstract port=' 5432 ' dbname=d password=gehe", "postgresql://@abstract: 5432 /d"),
    ])
    func `special characters may stand where they are escaped, or mean nothing`(text: String, shown: String) throws {
        #expect(try "\(PostgreSQLAddress(text))" == shown)
    }

    @Test(arguments: [
        ("postgresql://u@10.0.0.1:21432,10.0.0.2:21433/d", "postgresql://u@10.0.0.1:21432,10.0.0.2:21433/d"),
        ("host=a,b port=5433 dbname=d", "postgresql://a:5433,b:5433/d"),
        ("host=a,b port=,5433 dbname=d", "postgresql://a,b:5433/d"),
        ("hostaddr=10.0.0.1,10.0.0.2 port=1,2 user=u", "postgresql://u@10.0.0.1:1,10.0.0.2:2/"),
        ("port=5433 dbname=d", "postgresql://:5433/d"),
        ("postgresql://u@[fd00::1]:5433,[::1]/d", "postgresql://u@[fd00::1]:5433,[::1]/d"),
        ("hostaddr=::1,10.0.0.2 port=5433", "postgresql://[::1]:5433,10.0.0.2:5433/"),
        ("host=/run/pg:2,@pg:3 port=5433 dbname=d", "postgresql:///run/pg:2:5433,@pg:3:5433/d"),
    ])
    func `each host is shown with the port that is its own`(text: String, shown: String) throws {
        #expect(try "\(PostgreSQLAddress(text))" == shown)
    }

    @Test(arguments: [
        ("postgresql://?service=foo", "postgresql:///?service=foo"),
        ("service=foo user=u password=gehe dbname=d", "postgresql://u@/d?service=foo"),
        ("postgresql://h/d?service=foo", "postgresql://h/d"),
        ("hostaddr=10.0.0.1 service=foo", "postgresql://10.0.0.1/"),
        ("postgresql:///d", "postgresql:///d"),
    ])
    func `where an address names no host, its service is shown, and no host is made up`(
        text: String, shown: String
    ) throws {
        #expect(try "\(PostgreSQLAddress(text))" == shown)
    }

    @Test(arguments: [
        ("postgresql://h/d", true), ("postgres://h/d", true), ("Postgresql://u:gehe@h/d", true), ("postgresql:", false),
        ("postgresql:/u:gehe@h/d", true), ("host=h password=gehe", true), ("hots=h password=gehe", true),
        ("host=h dbname=d", true), ("a=b.sqlite", false), ("postgresql:u:gehe@h/d", true),
        ("postgres//u:gehe@h/d", true), ("host=/nope pasword=gehe", true), (" host = h pasword=gehe", true),
        ("postgres;//u:gehe@h/d", true), ("postgresql/u:gehe@h/d", true), ("postgresl:u:gehe@h/d", true),
        ("hots=h password = gehe", true), ("PASSWORD=gehe host=h", true), (" postgresql:/u:gehe@h/d", true),
        ("Postgresql:/u:gehe@h/d", true), ("pasword=gehe host=h", true), ("passwd=gehe user = u", true),
        ("postgre:u:gehe@h/d", true), ("", false), ("postgres.sqlite", false),
        ("hosts=a.sqlite", false), ("data/user@h.sqlite", false),
        ("postgres-backups/me@host/a.sqlite", false), ("postgres@h.sqlite", false),
        ("data/token-server.sqlite", false), ("/run/fleet:1/store", false),
    ])
    func `what looks like an address is never taken for a file, whose name is told`(text: String, isAddress: Bool) {
        #expect(PostgreSQLAddress.isAddress(text) == isAddress)
    }

    @Test(arguments: [
        "sslmode=x", "connect_timeout=soon", "target_session_attrs=x", "service=none", "hostaddr=x",
        "keepalives_idle=x", "ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2",
    ])
    func `an option's value that libpq does not take is a mistake in the address`(option: String) async throws {
        let address = try PostgreSQLAddress("postgresql://u:gehe@127.0.0.1:1/d?\(option)")
        let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
        let error = try await #require(throws: PostgreSQLError.self) {
            _ = try await pool.run { try $0.query("SELECT 1").count }
        }
        #expect(error.code == .invalidAddress, "\(error)")
        #expect(!error.mayPass && !"\(error)".contains("gehe"))
        await pool.close()
    }
}
