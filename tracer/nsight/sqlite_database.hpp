#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cohort {

/// One row of a table under the columns that were asked for; those a table lacks are absent.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  /// Also of a real number that is whole.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const;
  /// The nearest whole number of either kind.
  [[nodiscard]] std::optional<std::int64_t> rounded(std::size_t column) const;
  [[nodiscard]] std::optional<std::string_view> text(std::size_t column) const;

 private:
  sqlite3_stmt* statement_;
};

/// A database somebody else wrote, only read, with a schema that is not trusted: views, virtual
/// tables and triggers are not touched.
class SqliteDatabase {
 public:
  /// Errors: kInvalidInput with SQLite's message. Reading ends with kInterrupted once cancelled; the token must outlive
  /// the database.
  static Result<SqliteDatabase> open(const std::filesystem::path& path, const CancelToken* cancel = nullptr);
  /// The image of a database file. `image` must outlive the database.
  static Result<SqliteDatabase> open_image(std::string_view image);

  SqliteDatabase(SqliteDatabase&&) noexcept;
  SqliteDatabase& operator=(SqliteDatabase&&) noexcept;
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  /// Ordinary tables, by name.
  [[nodiscard]] Result<std::vector<std::string>> tables() const;
  /// Views, by name; they are not read.
  [[nodiscard]] Result<std::vector<std::string>> views() const;
  /// Columns of a table that there is, in lower case.
  [[nodiscard]] Result<std::vector<std::string>> columns(std::string_view table) const;
  /// Rows of a table that there is. Errors: kInvalidInput where the file is damaged.
  [[nodiscard]] Result<std::int64_t> count_rows(std::string_view table) const;

  /// Calls visit(SqliteRow) for every row of a table, in the table's order. Zero rows where there is
  /// no such table. Errors: kInvalidInput where the file is damaged; rows before it were visited.
  template <class Visit>
  Result<void> each_row(std::string_view table, const std::vector<std::string_view>& columns,
                        const Visit& visit) const {
    COHORT_TRY(Cursor cursor, select(table, columns));
    for (;;) {
      COHORT_TRY(const bool more, cursor.step());
      if (!more) return {};
      visit(SqliteRow(cursor.statement.get()));
    }
  }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  struct Cursor {
    std::unique_ptr<sqlite3_stmt, Finalize> statement;  ///< null for a table that is not there
    Result<bool> step();
  };

  explicit SqliteDatabase(sqlite3* database) : database_(database) {}
  static Result<SqliteDatabase> guarded(SqliteDatabase database);
  [[nodiscard]] Result<Cursor> prepare(const std::string& sql) const;
  [[nodiscard]] Result<std::vector<std::string>> names(const std::string& sql) const;
  [[nodiscard]] Result<Cursor> select(std::string_view table, const std::vector<std::string_view>& columns) const;
  [[nodiscard]] tl::unexpected<Error> failure() const;

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cohort
