// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import GRDB

/// The tables of the token server's store, and how they came to be.
enum TokenServerSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        // What is searched by is computed from the hashed text, so that it cannot be changed apart from it. The triggers
        // stand in the way of mistakes; against intent there is the chain.
        migrator.registerMigration("1 audit") { database in
            try database.execute(
                sql: """
                    CREATE TABLE audit_record (
                        sequence INTEGER PRIMARY KEY,
                        content TEXT NOT NULL,
                        hash TEXT NOT NULL,
                        time_ms INTEGER NOT NULL AS (json_extract(content, '$.time_ms')) VIRTUAL,
                        fingerprint TEXT AS (json_extract(content, '$.fingerprint')) VIRTUAL
                    ) STRICT;
                    CREATE INDEX audit_record_time ON audit_record (time_ms);
                    CREATE INDEX audit_record_fingerprint ON audit_record (fingerprint);
                    CREATE TRIGGER audit_record_stays BEFORE DELETE ON audit_record
                        BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
                    CREATE TRIGGER audit_record_is_final BEFORE UPDATE ON audit_record
                        BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
                    CREATE TABLE audit_head (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        sequence INTEGER NOT NULL,
                        hash TEXT NOT NULL
                    ) STRICT;
                    INSERT INTO audit_head VALUES (1, 0, '\(AuditEntry.origin)');
                    """
            )
        }
        migrator.registerMigration("2 revocations and assignments") { database in
            try database.execute(
                sql: """
                    CREATE TABLE revocation (
                        kind TEXT NOT NULL CHECK (kind IN ('fingerprint', 'key')),
                        value TEXT NOT NULL,
                        ends_at INTEGER NOT NULL,
                        PRIMARY KEY (kind, value)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE assignment (
                        id INTEGER PRIMARY KEY,
                        issuer TEXT NOT NULL,
                        subject TEXT NOT NULL,
                        kind TEXT NOT NULL,
                        resource TEXT NOT NULL,
                        start_ms INTEGER NOT NULL,
                        end_ms INTEGER
                    ) STRICT;
                    CREATE UNIQUE INDEX assignment_once ON assignment
                        (kind, resource, issuer, subject, start_ms, coalesce(end_ms, -1));
                    """
            )
        }
        // Records up to where the chain starts are in an archive.
        migrator.registerMigration("3 archives") { database in
            try database.execute(
                sql: """
                    CREATE TABLE audit_start (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        sequence INTEGER NOT NULL,
                        hash TEXT NOT NULL,
                        is_archive INTEGER NOT NULL
                    ) STRICT;
                    INSERT INTO audit_start VALUES (1, 0, '\(AuditEntry.origin)', 0);
                    DROP TRIGGER audit_record_stays;
                    CREATE TRIGGER audit_record_stays BEFORE DELETE ON audit_record
                        WHEN old.sequence > (SELECT sequence FROM audit_start)
                        BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
                    """
            )
        }
        migrator.registerMigration("4 assignments by holder and end") { database in
            try database.execute(
                sql: """
                    CREATE INDEX assignment_holder ON assignment (issuer, subject);
                    CREATE INDEX assignment_end ON assignment (end_ms);
                    """
            )
        }
        return migrator
    }

    /// The same tables in PostgreSQL.
    ///
    /// What is searched by stands beside the hashed text here, as PostgreSQL's JSON does not take every text;
    /// ``AuditReader/verify(anchor:)`` compares the two.
    static let postgreSQL = PostgreSQLSchema(
        part: "token server",
        steps: [
            [
                """
                CREATE TABLE audit_record (
                    sequence bigint PRIMARY KEY,
                    content text COLLATE "C" NOT NULL,
                    hash text COLLATE "C" NOT NULL,
                    time_ms bigint NOT NULL,
                    fingerprint text COLLATE "C"
                )
                """,
                "CREATE INDEX audit_record_time ON audit_record (time_ms)",
                "CREATE INDEX audit_record_fingerprint ON audit_record (fingerprint)",
                """
                CREATE FUNCTION audit_record_is_final() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$
                """,
                """
                CREATE TRIGGER audit_record_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_record
                FOR EACH STATEMENT EXECUTE FUNCTION audit_record_is_final()
                """,
                """
                CREATE TABLE audit_head (
                    id bigint PRIMARY KEY CHECK (id = 1),
                    sequence bigint NOT NULL,
                    hash text COLLATE "C" NOT NULL
                )
                """,
                "INSERT INTO audit_head VALUES (1, 0, '\(AuditEntry.origin)')",
                """
                CREATE TABLE revocation (
                    kind text COLLATE "C" NOT NULL CHECK (kind IN ('fingerprint', 'key')),
                    value text COLLATE "C" NOT NULL,
                    ends_at bigint NOT NULL,
                    PRIMARY KEY (kind, value)
                )
                """,
                """
                CREATE TABLE assignment (
                    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    issuer text COLLATE "C" NOT NULL,
                    subject text COLLATE "C" NOT NULL,
                    kind text COLLATE "C" NOT NULL,
                    resource text COLLATE "C" NOT NULL,
                    start_ms bigint NOT NULL,
                    end_ms bigint
                )
                """,
                """
                CREATE UNIQUE INDEX assignment_once ON assignment
                (kind, resource, issuer, subject, start_ms, coalesce(end_ms, -1))
                """,
            ],
            [
                """
                CREATE TABLE audit_start (
                    id bigint PRIMARY KEY CHECK (id = 1),
                    sequence bigint NOT NULL,
                    hash text COLLATE "C" NOT NULL,
                    is_archive bigint NOT NULL
                )
                """,
                "INSERT INTO audit_start VALUES (1, 0, '\(AuditEntry.origin)', 0)",
                "DROP TRIGGER audit_record_is_final ON audit_record",
                """
                CREATE TRIGGER audit_record_is_final BEFORE UPDATE OR TRUNCATE ON audit_record
                FOR EACH STATEMENT EXECUTE FUNCTION audit_record_is_final()
                """,
                """
                CREATE FUNCTION audit_record_stays() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN
                    IF old.sequence > (SELECT sequence FROM fleetpass.audit_start) THEN
                        RAISE EXCEPTION 'the audit is append-only';
                    END IF;
                    RETURN old;
                END $$
                """,
                """
                CREATE TRIGGER audit_record_stays BEFORE DELETE ON audit_record
                FOR EACH ROW EXECUTE FUNCTION audit_record_stays()
                """,
            ],
            [
                "CREATE INDEX assignment_holder ON assignment (issuer, subject)",
                "CREATE INDEX assignment_end ON assignment (end_ms)",
            ],
        ])
}
