#include "gui/window/pages.hpp"

#include "gui/compare/compare_page.hpp"
#include "gui/explore/explore_page.hpp"
#include "gui/run/run_page.hpp"
#include "gui/scaling/scaling_page.hpp"
#include "gui/start/start_page.hpp"
#include "gui/timeline/timeline_page.hpp"
#include "gui/window/main_window.hpp"

namespace cohort {

void add_pages(MainWindow& window) {
  window.add_page(PageId::kProfile, new StartPage(window.recent_files(), &window));
  auto* source = new ExplorationSource(&window);
  auto* explore = new ExplorePage(*source, &window);
  auto* compare = new ComparePage(&window);
  window.add_page(PageId::kExplore, explore);
  window.add_page(PageId::kRun, new RunPage(&window));
  window.add_page(PageId::kCompare, compare);
  window.add_page(PageId::kScaling, new ScalingPage(*source, &window));
  window.add_page(PageId::kTimeline, new TimelinePage(&window));
  QObject::connect(explore, &ExplorePage::comparison_asked, compare,
                   [compare, &window](const auto& first, const auto& second) {
                     compare->compare_predictions(first, second);
                     window.show_page(PageId::kCompare);
                   });
}

}  // namespace cohort
