#pragma once

#include <QFont>
#include <QHash>
#include <QStaticText>
#include <QString>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// Names of slices as text laid out once: laying out is what takes most of the time of painting one.
class LabelCache {
 public:
  void clear(const QFont& font);
  /// A slice's name in at most about so many pixels, its end left out where it is longer; null where not even a few
  /// letters fit.
  const QStaticText* text(const Timeline& timeline, SliceRef slice, qreal width);

 private:
  struct Name {
    QString text;
    qreal width = 0;
  };
  const QStaticText& lay_out(quint64 key, const Name& name, int letters);

  QFont font_;
  QHash<quint64, Name> names_;                         ///< by part and StringId
  QHash<std::pair<quint64, int>, QStaticText> texts_;  ///< by name and number of letters
};

}  // namespace cohort
