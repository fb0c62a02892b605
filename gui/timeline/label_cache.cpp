#include "gui/timeline/label_cache.hpp"

#include <QFontMetricsF>
#include <algorithm>

#include "view/timeline/names.hpp"

namespace cohort {

void LabelCache::clear(const QFont& font) {
  font_ = font;
  names_.clear();
  texts_.clear();
}

const QStaticText* LabelCache::text(const Timeline& timeline, SliceRef slice, qreal width) {
  constexpr std::size_t kMostBytes = 200;
  constexpr int kFewestLetters = 3;
  const auto key = (static_cast<quint64>(slice.part) << 32U) | to_index(timeline.slice(slice).name);
  auto name = names_.find(key);
  if (name == names_.end()) {
    const std::string text = shortened(short_name(timeline.name(slice)), kMostBytes);
    Name added{QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())), 0};
    added.width = QFontMetricsF(font_).horizontalAdvance(added.text);
    name = names_.insert(key, std::move(added));
  }
  int letters = static_cast<int>(name->text.size());
  if (name->width > width) {
    letters = static_cast<int>(static_cast<qreal>(letters) * width / name->width) - 1;
    if (letters < kFewestLetters) return nullptr;
  }
  // Wide letters may stand in front: one less until it fits.
  for (; letters >= std::min(kFewestLetters, static_cast<int>(name->text.size())) && letters > 0; --letters) {
    const QStaticText& laid_out = lay_out(key, *name, letters);
    if (laid_out.size().width() <= width + 0.5) return &laid_out;
  }
  return nullptr;
}

const QStaticText& LabelCache::lay_out(quint64 key, const Name& name, int letters) {
  constexpr int kMostTexts = 20'000;
  const auto found = texts_.constFind({key, letters});
  if (found != texts_.constEnd()) return *found;
  if (texts_.size() > kMostTexts) texts_.clear();
  const bool whole = letters == name.text.size();
  QStaticText laid_out(whole ? name.text : name.text.left(letters) + QChar(0x2026));
  laid_out.setTextFormat(Qt::PlainText);
  laid_out.setPerformanceHint(QStaticText::AggressiveCaching);
  laid_out.prepare(QTransform(), font_);
  return *texts_.insert({key, letters}, laid_out);
}

}  // namespace cohort
