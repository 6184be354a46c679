#include "experiments/studies/run/store/annotations.h"

#include "engine/error.h"
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

/// Whether a text is what was written.
bool is_as_written(const Database& database, const char* kind, const std::string& text, const std::string& digest,
                   Changed changed) {
  const bool is_same = digest_of_text(text) == digest;
  require(is_same || changed == Changed::leave_out,
          "{0}: a {1} is not what was written (wrong checksum); 'headroom doctor {0} --repair' keeps the others",
          database.path().string(), kind);
  return is_same;
}

}  // namespace

void add_annotation_tables(Database& database) {
  if (database.has_table("live")) return;
  Transaction transaction(database);
  database.run(annotation_tables);
  transaction.commit();
}

std::vector<Note> read_notes(const Database& database, Changed changed) {
  std::vector<Note> notes;
  if (!database.has_table("notes")) return notes;
  Statement rows(database, "SELECT id, at, text, digest FROM notes ORDER BY id");
  while (rows.step()) {
    Note note;
    std::string digest;
    rows.read(note.id, note.at, note.text, digest);
    if (is_as_written(database, "note", note.text, digest, changed)) notes.push_back(std::move(note));
  }
  return notes;
}

std::vector<std::string> read_tags(const Database& database, Changed changed) {
  std::vector<std::string> tags;
  if (!database.has_table("tags")) return tags;
  Statement rows(database, "SELECT tag, digest FROM tags ORDER BY tag");
  while (rows.step())
    if (is_as_written(database, "tag", rows.text(0), rows.text(1), changed)) tags.push_back(rows.text(0));
  return tags;
}

void write_note(const Database& database, const Note& note) {
  check_note(note.text);
  Statement(database,
            "INSERT INTO notes (id, at, text, digest) VALUES "
            "(nullif(?, 0), coalesce(nullif(?, ''), CURRENT_TIMESTAMP), ?, ?)")
      .bind(note.id, note.at, note.text, digest_of_text(note.text))
      .run();
}

bool erase_note(const Database& database, int64_t id) {
  return Statement(database, "DELETE FROM notes WHERE id = ?").bind(id).run() > 0;
}

void write_tag(const Database& database, const std::string& tag) {
  check_tag(tag);
  Statement(database, "INSERT OR IGNORE INTO tags (tag, digest) VALUES (?, ?)").bind(tag, digest_of_text(tag)).run();
}

bool erase_tag(const Database& database, const std::string& tag) {
  return Statement(database, "DELETE FROM tags WHERE tag = ?").bind(tag).run() > 0;
}

void write_live_point(const Database& database, const LivePoint& point, int64_t steps) {
  Statement(database,
            "INSERT OR REPLACE INTO live (trial, step, loss, at) SELECT ?1, ?2, ?3, ?4 WHERE "
            "?2 - coalesce((SELECT max(step) FROM live WHERE trial = ?1), -?5 - 1) >= max(1, ?5 / 400)")
      .bind(point.trial, point.step, point.loss, point.at, steps)
      .run();
}

std::vector<LivePoint> read_live_points(const Database& database) {
  std::vector<LivePoint> points;
  if (!database.has_table("live")) return points;
  Statement rows(database, "SELECT trial, step, loss, at FROM live ORDER BY trial, step");
  while (rows.step()) {
    LivePoint& point = points.emplace_back();
    rows.read(point.trial, point.step, point.loss, point.at);
  }
  return points;
}

void erase_live_points(const Database& database, const std::string& trial) {
  Statement(database, "DELETE FROM live WHERE trial = ?").bind(trial).run();
}

}  // namespace headroom::experiments
