#include "gui/window/screenshot.hpp"

#include <QImage>
#include <QPixmap>

#include "gui/window/page.hpp"

namespace cohort {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{40};
constexpr int kQuietLooks = 4;  ///< work that ends may start other work a moment later

}  // namespace

Screenshot::Screenshot(MainWindow& window, const ViewerOptions& options, QObject* parent)
    : QObject(parent), window_(window), options_(options) {
  connect(&window_.files(), &OpenFiles::failed, this, [this](const QString&, const Error& error) {
    timer_.stop();
    Q_EMIT finished(error);
  });
  connect(&timer_, &QTimer::timeout, this, &Screenshot::look);
  timer_.start(kBetweenLooks);
}

void Screenshot::look() {
  quiet_looks_ = window_.settled() ? quiet_looks_ + 1 : 0;
  if (quiet_looks_ < kQuietLooks) return;
  timer_.stop();
  Q_EMIT finished(take());
}

std::optional<Error> Screenshot::take() const {
  if (options_.page && window_.current_page() != *options_.page) {
    const Page* const wanted = window_.page(*options_.page);
    if (wanted == nullptr) return Error{ErrorCode::kUsage, "this view is not part of this build"};
    return Error{ErrorCode::kUsage,
                 wanted->title().toStdString() + " has nothing to show: " + wanted->state().next.toStdString()};
  }
  if (!window_.grab().toImage().save(options_.screenshot, "PNG"))
    return Error{ErrorCode::kInvalidInput, options_.screenshot.toStdString() + ": cannot be written"};
  return std::nullopt;
}

}  // namespace cohort
