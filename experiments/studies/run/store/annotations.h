#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/run/store/database.h"

namespace headroom::experiments {

/// A remark of a person's on a run.
struct Note {
  int64_t id = 0;
  std::string at;  ///< UTC, "2026-01-02 03:04:05"
  std::string text;
  bool operator==(const Note&) const = default;
};

/// A training loss of a trial that is not finished.
struct LivePoint {
  std::string trial;
  int64_t step = 0;
  double loss = 0;
  double at = 0;  ///< seconds since 1970
};

/// Makes the tables of notes, tags and live points where a store has none. Older programs leave them alone, so that
/// they need no version of the schema of their own.
void add_annotation_tables(Database& database);

/// In the order in which they were written; none where the store has no such table. Throws Error when one is not what
/// was written.
std::vector<Note> read_notes(Database& database);
/// In the order of the alphabet; as read_notes().
std::vector<std::string> read_tags(Database& database);

/// Keeps a note. `at`: when it was written, as Note has it; "": now. Throws Error as check_note() does.
void write_note_row(Database& database, const std::string& text, const std::string& at = "");
/// False when there is no such note.
bool erase_note(Database& database, int64_t id);
/// Keeps a tag; one that is there already stays. Throws Error as check_tag() does.
void write_tag(Database& database, const std::string& tag);
/// False when there is no such tag.
bool erase_tag(Database& database, const std::string& tag);

/// Copies the sound notes and tags of one store into another.
void copy_annotations(Database& from, Database& to);

/// Adds a point to a trial's live curve, unless its latest is nearer than 1/400 of the trial's steps: a curve has few
/// enough to draw, however long the training.
void write_live_point(Database& database, const LivePoint& point, int64_t steps);
/// The live curves of all trials, each in order of its steps.
std::vector<LivePoint> read_live_points(Database& database);
/// Forgets a trial's live curve: its history is stored now.
void erase_live_points(Database& database, const std::string& trial);

}  // namespace headroom::experiments
