#pragma once
#include <cstdint>
#include <string>
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

/// Throws Error for a note that is empty, longer than 4000 bytes, or no UTF-8 text.
void check_note(const std::string& text);
/// Throws Error for what is no time of a note, "2026-01-02 03:04:05".
void check_note_time(const std::string& at);
/// Throws Error for a tag that is empty, longer than 60 bytes, or holds blanks, commas or control characters.
void check_tag(const std::string& tag);

/// Makes the tables of notes, tags and live points where a store has none. Older programs leave them alone, so that
/// they need no version of the schema of their own.
void add_annotation_tables(Database& database);

/// What becomes of notes and tags that are not what was written: they are an Error, or left out.
enum class Changed { complain, leave_out };

/// In the order in which they were written; none where the store has no such table.
std::vector<Note> read_notes(const Database& database, Changed changed);
/// In the order of the alphabet; as read_notes().
std::vector<std::string> read_tags(const Database& database, Changed changed);

/// Keeps a note. Without an id it gets one that no note had before, without a time the present one. Throws Error as
/// check_note() does.
void write_note(const Database& database, const Note& note);
/// False when there is no such note.
bool erase_note(const Database& database, int64_t id);
/// Keeps a tag; one that is there already stays. Throws Error as check_tag() does.
void write_tag(const Database& database, const std::string& tag);
/// False when there is no such tag.
bool erase_tag(const Database& database, const std::string& tag);

/// Adds a point to a trial's live curve, unless its latest is nearer than 1/400 of the trial's steps: a curve has few
/// enough to draw, however long the training.
void write_live_point(const Database& database, const LivePoint& point, int64_t steps);
/// The live curves of all trials, each in order of its steps.
std::vector<LivePoint> read_live_points(const Database& database);
/// Forgets a trial's live curve: its history is stored now.
void erase_live_points(const Database& database, const std::string& trial);

}  // namespace headroom::experiments
