// SPDX-License-Identifier: Apache-2.0
// An opened and checked artifact: everything it says about itself, for any machine. Preparing it to run is the executor's part.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/artifact_generated.h"
#include "base/digest.h"
#include "base/params/storage_plan.h"
#include "base/status.h"
#include "runtime/artifact/container.h"

namespace tiffin::runtime {

class TrustedKeys;

// Only an artifact that one of the keys signed, of at least that release, is opened.
struct SignatureDemand {
  const TrustedKeys* keys = nullptr;  // none: nothing is trusted
  uint64_t min_release = 0;
};

// Immutable after opening; safe to share between threads.
class Artifact {
 public:
  // Every check of docs/architecture/artifact_format.md that does not depend on this machine. Takes the source over.
  // With a demand the signature is checked before anything but the header is looked at, then every section as at VerifyLevel::All, and what is
  // copied into memory is hashed there once more. NotTrusted, SignatureInvalid.
  static Result<Artifact> open(Source source, VerifyLevel level, const SignatureDemand* demand = nullptr);
  // The same in place, on an artifact that holds nothing yet.
  Artifact() = default;
  Status read(Source&& source, VerifyLevel level, const SignatureDemand* demand);
  // What follows the container, of one that is open already; nothing is hashed. Whoever borrowed from the container has finished.
  Status read(Container&& container);

  // Container::read_past, and then whatever tables can be read: for answering questions about a file that does not load.
  Status read_past(Source&& source, Obstacles& obstacles);

  const Container& container() const { return container_; }
  const abi::Program& program() const { return *program_; }
  const abi::Manifest& manifest() const { return *manifest_; }
  const params::StoragePlan& storage_plan() const { return storage_plan_; }
  // Digests of the model's parameters, in the storage plan's order.
  std::span<const Digest> parameter_digests() const;
  // The embedded weights; null in a weightless file.
  const Section* weights() const { return container_.find(TIFFIN_SECTION_WEIGHTS); }

  // The first variant's entries: what the artifact offers on any machine.
  const abi::Variant& first_variant() const { return *program_->variants()->Get(0); }

 private:
  Status read_contents(VerifyLevel level);
  Status read_tables();
  Status place_attachments(VerifyLevel level);
  Status check_weights() const;

  Container container_;
  Arena arena_;
  const abi::Program* program_ = nullptr;
  const abi::Manifest* manifest_ = nullptr;
  params::StoragePlan storage_plan_;
};

// What every FlatBuffer string of a verified table is.
inline std::string_view view(const flatbuffers::String* text) { return {text->c_str(), text->size()}; }

}  // namespace tiffin::runtime
