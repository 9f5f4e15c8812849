// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/background_hash.h"

namespace tiffin::tools {

BackgroundHash::BackgroundHash(const runtime::Container& container) : container_(container) {
  if (!container.is_folder()) is_running_ = pthread_create(&thread_, nullptr, &work, this) == 0;
}

BackgroundHash::~BackgroundHash() { join(); }

void* BackgroundHash::work(void* self) {
  auto* own = static_cast<BackgroundHash*>(self);
  own->digest_.emplace(own->container_.hash_file());
  return nullptr;
}

void BackgroundHash::join() {
  if (is_running_) pthread_join(thread_, nullptr);
  is_running_ = false;
}

Result<Digest> BackgroundHash::take() {
  join();
  if (!digest_.has_value()) return container_.hash_file();
  return std::move(*digest_);
}

}  // namespace tiffin::tools
