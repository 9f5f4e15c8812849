// SPDX-License-Identifier: Apache-2.0
// Weights files whose header agrees with their plan's digest and their length.
#include <cstring>
#include <vector>

#include "abi/artifact.h"
#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

void repair(std::span<uint8_t> file) {
  tiffin_weights_header header;
  if (file.size() < sizeof(header)) return;
  memcpy(&header, file.data(), sizeof(header));
  header.total_length = file.size();
  if (header.data_offset <= file.size()) header.data_length = file.size() - header.data_offset;
  if (header.plan_offset <= file.size() && header.plan_length <= file.size() - header.plan_offset) {
    const Digest digest = digest_of(file.subspan(header.plan_offset, header.plan_length));
    memcpy(header.plan_digest, digest.bytes.data(), sizeof(header.plan_digest));
  }
  memcpy(file.data(), &header, sizeof(header));
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  if (!is_left_unrepaired(bytes)) repair(file);
  if (!params::is_weights(file)) return false;
  const auto opened = params::ParamFile::from_memory(file);
  if (!opened.has_value()) return false;
  walk_source(opened->source());
  const params::Weights& weights = *opened->weights();
  params::BindOptions options;
  use(params::bind_parameters(weights.plan(), weights.digests(), *opened, options).has_value());
  options.verify_values = true;
  use(params::check_parameters(weights.plan(), weights.digests(), *opened, options).is_ok());
  return true;
}

}  // namespace tiffin::fuzz
