#include "gui/explore/number_field.hpp"

#include <gtest/gtest.h>

#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>

namespace cohort {
namespace {

TEST(NumberField, TakesWhatIsTyped) {
  NumberField field({1, 1000});
  const QSignalSpy changed(&field, &NumberField::value_changed);
  field.show();
  field.box().selectAll();
  QTest::keyClicks(&field.box(), "16");
  EXPECT_EQ(changed.size(), 0);  // not yet: 1 is no number that was meant
  QTest::keyClick(&field.box(), Qt::Key_Return);
  ASSERT_EQ(changed.size(), 1);
  EXPECT_EQ(changed[0][0].toDouble(), 16);
  EXPECT_EQ(field.value(), 16);
}

TEST(NumberField, GoesByFactorsOverAWideRange) {
  NumberField field({1, 4096});
  field.slider().setValue(field.slider().maximum() / 2);
  EXPECT_EQ(field.value(), 64);
  field.slider().setValue(field.slider().maximum());
  EXPECT_EQ(field.value(), 4096);
  field.slider().setValue(0);
  EXPECT_EQ(field.value(), 1);
}

TEST(NumberField, GoesOneByOneOverANarrowRange) {
  NumberField field({1, 8});
  field.show();
  field.set_value(3);
  const QSignalSpy changed(&field, &NumberField::value_changed);
  QTest::keyClick(&field.slider(), Qt::Key_Right);
  EXPECT_EQ(field.value(), 4);
  EXPECT_EQ(changed.size(), 1);
}

TEST(NumberField, MovesItsSliderAlong) {
  NumberField field({1, 1024});
  field.set_value(32);
  EXPECT_EQ(field.slider().value(), field.slider().maximum() / 2);
  const QSignalSpy changed(&field, &NumberField::value_changed);
  field.set_value(64);
  EXPECT_EQ(changed.size(), 0);
}

TEST(NumberField, KeepsItsDecimals) {
  NumberField field({0.1, 10, 2, "x"});
  field.set_value(1.25);
  EXPECT_EQ(field.value(), 1.25);
  EXPECT_EQ(field.box().text(), "1.25x");
}

TEST(NumberField, CannotBeMovedWhereThereIsOneValue) {
  const NumberField field({1, 1});
  EXPECT_FALSE(const_cast<NumberField&>(field).slider().isEnabled());
}

}  // namespace
}  // namespace cohort
