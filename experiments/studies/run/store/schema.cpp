#include "experiments/studies/run/store/schema.h"

#include "engine/error.h"
#include "experiments/studies/run/store/database.h"

namespace headroom::experiments {
namespace {

constexpr const char* tables = R"(
  CREATE TABLE trials (
    id         TEXT PRIMARY KEY,
    config     TEXT NOT NULL,     -- canonical JSON
    code       TEXT NOT NULL,     -- version of the program that trained it
    data       TEXT NOT NULL,     -- JSON: file -> SHA-256 of what was read
    status     TEXT NOT NULL,     -- finished | failed
    message    TEXT NOT NULL,     -- why it failed
    steps      INTEGER NOT NULL,  -- updates done
    parameters INTEGER NOT NULL,
    flops      REAL NOT NULL,
    attempts   INTEGER NOT NULL,  -- times that it came to an end: a failed trial is tried again
    seconds    REAL NOT NULL,
    ended_at   TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    weights    TEXT NOT NULL DEFAULT '',  -- checksum of the file of weights that was kept
    details    TEXT,              -- SHA-256 of its scores, parts, curve and predictions
    digest     TEXT               -- SHA-256 of this row; NULL: written by an older program
  ) WITHOUT ROWID;
  CREATE TABLE seals (            -- what ought to be there: trials (the XOR of their digests), plan (with study)
    name   TEXT PRIMARY KEY,
    count  INTEGER NOT NULL,
    digest TEXT NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO seals VALUES ('trials', 0, '0000000000000000000000000000000000000000000000000000000000000000');
  CREATE TABLE scores (           -- what a trial is judged by
    trial  TEXT NOT NULL,
    split  TEXT NOT NULL,         -- validation | test
    metric TEXT NOT NULL,
    value  REAL,                  -- NULL: not a number
    PRIMARY KEY (trial, split, metric)
  ) WITHOUT ROWID;
  CREATE TABLE test_parts (       -- jackknife pseudo-values of the test metrics over parts of the test set
    trial  TEXT NOT NULL,
    metric TEXT NOT NULL,
    part   INTEGER NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (trial, metric, part)
  ) WITHOUT ROWID;
  CREATE TABLE metrics (          -- what was measured along the way
    trial  TEXT NOT NULL,
    step   INTEGER NOT NULL,
    split  TEXT NOT NULL,         -- train | validation
    metric TEXT NOT NULL,
    value  REAL,
    PRIMARY KEY (trial, step, split, metric)
  ) WITHOUT ROWID;
  CREATE TABLE predictions (
    trial    TEXT NOT NULL,
    position INTEGER NOT NULL,
    target   REAL,
    output   REAL,
    PRIMARY KEY (trial, position)
  ) WITHOUT ROWID;
  CREATE TABLE leases (           -- trials that a process is training now
    trial     TEXT PRIMARY KEY,
    label     TEXT NOT NULL,
    owner     TEXT NOT NULL,
    machine   TEXT NOT NULL,
    pid       INTEGER NOT NULL,
    started   TEXT NOT NULL,      -- of the process, in the machine's own words
    heartbeat REAL NOT NULL,      -- seconds since 1970
    step      INTEGER NOT NULL,
    steps     INTEGER NOT NULL,
    loss      REAL
  ) WITHOUT ROWID;
  CREATE TABLE plan (             -- of the latest run
    position INTEGER PRIMARY KEY,
    trial    TEXT NOT NULL,
    series   TEXT NOT NULL,
    label    TEXT NOT NULL,
    x        REAL,
    choice   TEXT NOT NULL,       -- JSON: key -> value
    seed     INTEGER NOT NULL
  );
  CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- id, title, profile, config
)";

/// Version 1 had `trials` alone, with the scores as JSON.
void from_1(const Database& database) {
  database.run("ALTER TABLE trials RENAME TO trials_1");
  database.run(tables);
  database.run(R"(
    INSERT INTO trials (id, config, code, data, status, message, steps, parameters, flops, attempts, seconds, ended_at)
      SELECT id, config, '', '{}', status, message, coalesce(json_extract(config, '$.train.steps'), 0), parameters,
             flops, 1, seconds, ended_at FROM trials_1;
    INSERT INTO scores SELECT t.id, 'validation', j.key, j.value FROM trials_1 t, json_each(t.validation) j;
    INSERT INTO scores SELECT t.id, 'test', j.key, j.value FROM trials_1 t, json_each(t.test) j;
    DROP TABLE trials_1;
  )");
}

/// Version 2 had no checksums: its trials stay without until `headroom doctor --repair` adds them.
constexpr const char* from_2 = R"(
  ALTER TABLE trials ADD COLUMN weights TEXT NOT NULL DEFAULT '';
  ALTER TABLE trials ADD COLUMN details TEXT;
  ALTER TABLE trials ADD COLUMN digest TEXT;
  CREATE TABLE seals (name TEXT PRIMARY KEY, count INTEGER NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
  INSERT INTO seals VALUES ('trials', 0, '0000000000000000000000000000000000000000000000000000000000000000');
)";

/// Version 3 had no parts of the test set: its trials stay without.
constexpr const char* from_3 = R"(
  CREATE TABLE test_parts (trial TEXT NOT NULL, metric TEXT NOT NULL, part INTEGER NOT NULL, value REAL NOT NULL,
                           PRIMARY KEY (trial, metric, part)) WITHOUT ROWID;
)";

/// The latest version whose tables are all there.
int64_t version_of_tables(const Database& database) {
  return database.has_table("test_parts") ? 4 : database.has_table("seals") ? 3 : 0;
}

/// In a transaction: version and tables must be of one moment.
int64_t version_of(const Database& database) {
  const int64_t version = database.number("PRAGMA user_version");
  require(version <= schema_version, "{}: run store: written by a newer headroom: schema version {}, this one knows {}",
          database.path().string(), version, schema_version);
  require(version >= version_of_tables(database),
          "{}: run store: says schema version {}, but has the tables of {}; it is damaged", database.path().string(),
          version, version_of_tables(database));
  return version == 0 && database.has_table("trials") ? 1 : version;
}

}  // namespace

bool is_empty(const Database& database) {
  const Snapshot snapshot(database);
  return database.number("PRAGMA user_version") == 0 && database.number("SELECT count(*) FROM sqlite_master") == 0;
}

void upgrade(Database& database) {
  // Mostly there is nothing to do, and no writer is waited for.
  if (database.number("PRAGMA user_version") == schema_version) return;
  Transaction transaction(database);
  const int64_t version = version_of(database);
  if (version == schema_version) return;
  if (version == 1) from_1(database);
  else if (version == 0) database.run(tables);
  if (version == 2) database.run(from_2);
  if (version == 2 || version == 3) database.run(from_3);
  database.run(fmt::format("PRAGMA user_version = {}", schema_version).c_str());
  transaction.commit();
}

void check_version(const Database& database) {
  const Snapshot snapshot(database);
  const int64_t version = version_of(database);
  require(version >= 2, "{}: run store: schema version {}, this program reads {}; run the study once more",
          database.path().string(), version, schema_version);
}

}  // namespace headroom::experiments
