#include "tracer/nsight/sqlite_database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"

namespace cohort {
namespace {

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::optional<std::int64_t> SqliteRow::integer(std::size_t column) const {
  const int index = static_cast<int>(column);
  const int type = sqlite3_column_type(statement_, index);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement_, index);
  if (type != SQLITE_FLOAT ||
      std::trunc(sqlite3_column_double(statement_, index)) != sqlite3_column_double(statement_, index))
    return std::nullopt;
  return rounded(column);
}

std::optional<std::int64_t> SqliteRow::rounded(std::size_t column) const {
  const int index = static_cast<int>(column);
  const int type = sqlite3_column_type(statement_, index);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement_, index);
  if (type != SQLITE_FLOAT) return std::nullopt;
  constexpr double kMost = 9.2e18;  // below 2^63
  const double number = sqlite3_column_double(statement_, index);
  if (!(std::abs(number) < kMost)) return std::nullopt;
  return std::llround(number);
}

std::optional<std::string_view> SqliteRow::text(std::size_t column) const {
  const int index = static_cast<int>(column);
  if (sqlite3_column_type(statement_, index) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* text = sqlite3_column_text(statement_, index);
  if (text == nullptr) return std::nullopt;
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, index));
  return std::string_view(reinterpret_cast<const char*>(text), size);
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }
void SqliteDatabase::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
SqliteDatabase::SqliteDatabase(SqliteDatabase&&) noexcept = default;
SqliteDatabase& SqliteDatabase::operator=(SqliteDatabase&&) noexcept = default;
SqliteDatabase::~SqliteDatabase() = default;

Result<SqliteDatabase> SqliteDatabase::open(const std::filesystem::path& path, const CancelToken* cancel) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database(opened);
  if (status != SQLITE_OK) return database.failure();
  if (cancel != nullptr) {
    constexpr int kInstructionsBetween = 10'000;
    const auto is_cancelled = [](void* token) { return static_cast<const CancelToken*>(token)->cancelled() ? 1 : 0; };
    sqlite3_progress_handler(opened, kInstructionsBetween, is_cancelled, const_cast<CancelToken*>(cancel));
  }
  return guarded(std::move(database));
}

Result<SqliteDatabase> SqliteDatabase::open_image(std::string_view image) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database(opened);
  if (status != SQLITE_OK) return database.failure();
  auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(image.data()));  // read only, says the flag
  const auto size = static_cast<sqlite3_int64>(image.size());
  if (sqlite3_deserialize(opened, "main", bytes, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    return database.failure();
  return guarded(std::move(database));
}

Result<SqliteDatabase> SqliteDatabase::guarded(SqliteDatabase database) {
  sqlite3* raw = database.database_.get();
  constexpr int kLongestText = 16 << 20;
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  COHORT_TRY(auto check, database.prepare("PRAGMA cell_size_check = ON"));
  COHORT_CHECK(check.step());
  return database;
}

tl::unexpected<Error> SqliteDatabase::failure() const {
  return fail(ErrorCode::kInvalidInput, "an SQLite database that cannot be read: {}",
              database_ ? sqlite3_errmsg(database_.get()) : "no memory");
}

Result<SqliteDatabase::Cursor> SqliteDatabase::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return failure();
  return Cursor{std::unique_ptr<sqlite3_stmt, Finalize>(statement)};
}

Result<bool> SqliteDatabase::Cursor::step() {
  if (!statement) return false;
  const int status = sqlite3_step(statement.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  if (status == SQLITE_INTERRUPT) return fail(ErrorCode::kInterrupted, "interrupted");
  return fail(ErrorCode::kInvalidInput, "an SQLite database that cannot be read: {}",
              sqlite3_errmsg(sqlite3_db_handle(statement.get())));
}

Result<std::vector<std::string>> SqliteDatabase::tables() const {
  return names(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
      "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name");
}

Result<std::vector<std::string>> SqliteDatabase::views() const {
  return names("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name");
}

Result<std::vector<std::string>> SqliteDatabase::names(const std::string& sql) const {
  COHORT_TRY(Cursor cursor, prepare(sql));
  std::vector<std::string> names;
  for (;;) {
    COHORT_TRY(const bool more, cursor.step());
    if (!more) return names;
    names.emplace_back(SqliteRow(cursor.statement.get()).text(0).value_or(""));
  }
}

Result<std::vector<std::string>> SqliteDatabase::columns(std::string_view table) const {
  COHORT_TRY(const Cursor all, prepare("SELECT * FROM " + quoted(table) + " LIMIT 0"));
  std::vector<std::string> there;
  for (int i = 0; i < sqlite3_column_count(all.statement.get()); ++i) {
    const char* name = sqlite3_column_name(all.statement.get(), i);
    if (name != nullptr) there.push_back(to_lower(name));
  }
  return there;
}

Result<std::int64_t> SqliteDatabase::count_rows(std::string_view table) const {
  COHORT_TRY(Cursor cursor, prepare("SELECT count(*) FROM " + quoted(table)));
  COHORT_TRY(const bool counted, cursor.step());
  return counted ? SqliteRow(cursor.statement.get()).integer(0).value_or(0) : 0;
}

Result<SqliteDatabase::Cursor> SqliteDatabase::select(std::string_view table,
                                                      const std::vector<std::string_view>& columns) const {
  COHORT_TRY(const auto names, tables());
  if (std::find(names.begin(), names.end(), table) == names.end()) return Cursor{};
  COHORT_TRY(const auto there, this->columns(table));
  std::string sql = "SELECT ";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool has = std::find(there.begin(), there.end(), to_lower(columns[i])) != there.end();
    if (i > 0) sql += ", ";
    sql += has ? quoted(columns[i]) : "NULL";
  }
  return prepare(sql + " FROM " + quoted(table));
}

}  // namespace cohort
