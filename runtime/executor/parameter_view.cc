// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/parameter_view.h"

#include <cstdlib>

namespace tiffin::runtime {

Result<ParameterView*> ParameterView::allocate() {
  void* memory = malloc(sizeof(ParameterView));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory for parameters");
  return new (memory) ParameterView;
}

void ParameterView::destroy(ParameterView* view) {
  if (view == nullptr) return;
  view->~ParameterView();
  free(view);
}

Status ParameterView::finish() {
  names_ = arena_.allocate<const char*>(source_.entries.size());
  restored_ = arena_.allocate<const uint8_t*>(source_.entries.size());
  if (names_ == nullptr || restored_ == nullptr) return error(Code::OutOfMemory, "no memory for parameters");
  for (size_t i = 0; i < source_.entries.size(); ++i) {
    names_[i] = arena_.copy_text(source_.entries[i].name);
    if (names_[i] == nullptr) return error(Code::OutOfMemory, "no memory for parameters");
  }
  return {};
}

Result<ParameterView*> ParameterView::of_set(Ref<Module> module, Ref<ParameterSet> set) {
  TIFFIN_ASSIGN_OR_RETURN(params::StoredParameters stored, params::StoredParameters::create(module->artifact().storage_plan(), set->data()));
  TIFFIN_ASSIGN_OR_RETURN(ParameterView * view, allocate());
  view->module_ = std::move(module);
  view->set_ = std::move(set);
  view->source_ = view->stored_.emplace(std::move(stored)).source();
  Status status = view->finish();
  if (status.is_ok()) return view;
  destroy(view);
  return status;
}

Result<ParameterView*> ParameterView::of_file(params::ParamFile&& file) {
  TIFFIN_ASSIGN_OR_RETURN(ParameterView * view, allocate());
  view->source_ = view->file_.emplace(std::move(file)).source();
  Status status = view->finish();
  if (status.is_ok()) return view;
  destroy(view);
  return status;
}

Result<const uint8_t*> ParameterView::bytes(size_t index) {
  const params::ParamEntry& entry = source_.entries[index];
  if (entry.data != nullptr) return entry.data;
  if (restored_[index] != nullptr) return restored_[index];
  auto* bytes = static_cast<uint8_t*>(arena_.allocate_bytes(static_cast<size_t>(entry.bytes), 64));
  if (bytes == nullptr) return error(Code::OutOfMemory, "no memory for parameter '%s'", names_[index]);
  if (source_.read != nullptr) TIFFIN_TRY(source_.read(source_.context, index, {bytes, static_cast<size_t>(entry.bytes)}));
  return restored_[index] = bytes;
}

}  // namespace tiffin::runtime
