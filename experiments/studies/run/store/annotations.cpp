#include "experiments/studies/run/store/annotations.h"

#include "engine/error.h"
#include "experiments/studies/run/store/annotation_rules.h"
#include "experiments/studies/run/store/digest.h"

namespace headroom::experiments {
namespace {

constexpr const char* annotation_tables = R"(
  CREATE TABLE IF NOT EXISTS notes (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: a page may still ask for the removal of an old one
    at     TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    text   TEXT NOT NULL,
    digest TEXT NOT NULL       -- SHA-256 of the text
  );
  CREATE TABLE IF NOT EXISTS tags (tag TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS live (  -- losses of trials that are being trained; gone when they have ended
    trial TEXT NOT NULL,
    step  INTEGER NOT NULL,
    loss  REAL,
    at    REAL NOT NULL,       -- seconds since 1970
    PRIMARY KEY (trial, step)
  ) WITHOUT ROWID;
)";

std::string digest_of_text(const std::string& text) { return Digest().add(text).hex(); }

/// Calls `f` with every row of `sql` (text, digest, …); one that has changed goes to `on_damage`.
template <class F, class G>
void each_text(Database& database, const char* table, const char* sql, const F& f, const G& on_damage) {
  if (!database.has_table(table)) return;
  Statement rows(database, sql);
  while (rows.step()) {
    if (digest_of_text(rows.text(0)) == rows.text(1)) f(rows);
    else on_damage();
  }
}

constexpr const char* select_notes = "SELECT text, digest, id, at FROM notes ORDER BY id";
constexpr const char* select_tags = "SELECT tag, digest FROM tags ORDER BY tag";

[[noreturn]] void fail_changed(const Database& database, const char* what) {
  fail("{0}: a {1} is not what was written (wrong checksum); 'headroom doctor {0} --repair' keeps the others",
       database.path().string(), what);
}

}  // namespace

void add_annotation_tables(Database& database) {
  if (database.has_table("live")) return;
  Transaction transaction(database);
  database.run(annotation_tables);
  transaction.commit();
}

std::vector<Note> read_notes(Database& database) {
  std::vector<Note> notes;
  each_text(
      database, "notes", select_notes,
      [&](const Statement& row) {
        notes.push_back({row.integer(2), row.text(3), row.text(0)});
      },
      [&] { fail_changed(database, "note"); });
  return notes;
}

std::vector<std::string> read_tags(Database& database) {
  std::vector<std::string> tags;
  each_text(
      database, "tags", select_tags, [&](const Statement& row) { tags.push_back(row.text(0)); },
      [&] { fail_changed(database, "tag"); });
  return tags;
}

void write_note_row(Database& database, const std::string& text, const std::string& at) {
  check_note(text);
  if (!at.empty()) check_note_time(at);
  Statement(database, "INSERT INTO notes (text, digest, at) VALUES (?, ?, coalesce(nullif(?, ''), CURRENT_TIMESTAMP))")
      .bind(text, digest_of_text(text), at)
      .run();
}

bool erase_note(Database& database, int64_t id) {
  Statement(database, "DELETE FROM notes WHERE id = ?").bind(id).run();
  return database.number("SELECT changes()") > 0;
}

void write_tag(Database& database, const std::string& tag) {
  check_tag(tag);
  Statement(database, "INSERT OR IGNORE INTO tags (tag, digest) VALUES (?, ?)").bind(tag, digest_of_text(tag)).run();
}

bool erase_tag(Database& database, const std::string& tag) {
  Statement(database, "DELETE FROM tags WHERE tag = ?").bind(tag).run();
  return database.number("SELECT changes()") > 0;
}

void copy_annotations(Database& from, Database& to) {
  add_annotation_tables(to);
  const auto skip = [] {};
  each_text(
      from, "notes", select_notes,
      [&](const Statement& row) {
        Statement(to, "INSERT INTO notes (text, digest, id, at) VALUES (?, ?, ?, ?)")
            .bind(row.text(0), row.text(1), row.integer(2), row.text(3))
            .run();
      },
      skip);
  each_text(
      from, "tags", select_tags, [&](const Statement& row) { write_tag(to, row.text(0)); }, skip);
}

void write_live_point(Database& database, const LivePoint& point, int64_t steps) {
  Statement(database,
            "INSERT OR REPLACE INTO live (trial, step, loss, at) SELECT ?1, ?2, ?3, ?4 WHERE "
            "?2 - coalesce((SELECT max(step) FROM live WHERE trial = ?1), -?5 - 1) >= max(1, ?5 / 400)")
      .bind(point.trial, point.step, point.loss, point.at, steps)
      .run();
}

std::vector<LivePoint> read_live_points(Database& database) {
  std::vector<LivePoint> points;
  if (!database.has_table("live")) return points;
  Statement rows(database, "SELECT trial, step, loss, at FROM live ORDER BY trial, step");
  while (rows.step()) points.push_back({rows.text(0), rows.integer(1), rows.real(2), rows.real(3)});
  return points;
}

void erase_live_points(Database& database, const std::string& trial) {
  Statement(database, "DELETE FROM live WHERE trial = ?").bind(trial).run();
}

}  // namespace headroom::experiments
