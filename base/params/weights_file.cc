// SPDX-License-Identifier: Apache-2.0
#include "base/params/weights_file.h"

#include "abi/artifact.h"
#include "abi/version.h"
#include "base/artifact_layout.h"

namespace tiffin::params {
namespace {

constexpr uint8_t kMagic[8] = TIFFIN_WEIGHTS_MAGIC_BYTES;
constexpr uint64_t kPartAlignment = 64;
static_assert(sizeof(tiffin_weights_header) == 128 && sizeof(Digest) == TIFFIN_DIGEST_BYTES);

unsigned long long printable(uint64_t value) { return value; }

Status check_version(const tiffin_weights_header& header) {
  if (header.format_major == TIFFIN_FORMAT_MAJOR) return {};
  return error(header.format_major > TIFFIN_FORMAT_MAJOR ? Code::FormatTooNew : Code::FormatTooOld,
               "the weights have format %u.%u, this version reads %u.x", header.format_major, header.format_minor, TIFFIN_FORMAT_MAJOR);
}

bool is_part_within(uint64_t offset, uint64_t length, uint64_t total) { return offset <= total && length <= total - offset; }

Status check_layout(const tiffin_weights_header& header, uint64_t file_bytes) {
  if (header.total_length > file_bytes) {
    return error(Code::Truncated, "the weights end after %llu of %llu bytes", printable(file_bytes), printable(header.total_length));
  }
  if (header.total_length < file_bytes) {
    return error(Code::InvalidParams, "%llu trailing bytes after the weights' %llu", printable(file_bytes - header.total_length),
                 printable(header.total_length));
  }
  const bool is_sound = header.parameter_count <= header.total_length / TIFFIN_DIGEST_BYTES &&
                        is_part_within(header.plan_offset, header.plan_length, header.total_length) &&
                        is_part_within(header.digests_offset, header.parameter_count * TIFFIN_DIGEST_BYTES, header.total_length) &&
                        is_part_within(header.data_offset, header.data_length, header.total_length) && header.data_offset % TIFFIN_PAGE_BYTES == 0 &&
                        header.plan_offset >= sizeof(header) && header.data_offset + header.data_length == header.total_length;
  if (!is_sound) return error(Code::InvalidParams, "the weights' header gives parts that lie outside the file's %llu bytes", printable(file_bytes));
  return {};
}

}  // namespace

bool is_weights(std::span<const uint8_t> bytes) { return bytes.size() >= sizeof(kMagic) && memcmp(bytes.data(), kMagic, sizeof(kMagic)) == 0; }

Status Weights::parse(std::span<const uint8_t> bytes) {
  if (!is_weights(bytes)) return error(Code::InvalidParams, "the bytes do not begin with the magic number of weights");
  tiffin_weights_header header;
  if (bytes.size() < sizeof(header)) {
    return error(Code::Truncated, "the weights end after %zu of the header's %zu bytes", bytes.size(), sizeof(header));
  }
  memcpy(&header, bytes.data(), sizeof(header));
  TIFFIN_TRY(check_version(header));
  TIFFIN_TRY(check_layout(header, bytes.size()));
  TIFFIN_TRY(plan_.parse(bytes.subspan(header.plan_offset, header.plan_length)));
  if (memcmp(plan_.digest().bytes.data(), header.plan_digest, TIFFIN_DIGEST_BYTES) != 0) {
    return error(Code::DigestMismatch, "the weights' storage plan differs from its digest");
  }
  if (plan_.data_bytes() != header.data_length || plan_.parameter_count() != header.parameter_count) {
    return error(Code::InvalidParams, "the weights' header gives %llu parameters and %llu bytes, the plan has %zu and %llu",
                 printable(header.parameter_count), printable(header.data_length), plan_.parameter_count(), printable(plan_.data_bytes()));
  }
  data_ = bytes.subspan(header.data_offset, header.data_length);
  if (!digests_.resize(header.parameter_count) || !entries_.append(plan_.parameters())) {
    return error(Code::OutOfMemory, "no memory for a list of %llu parameters", printable(header.parameter_count));
  }
  if (!digests_.empty()) memcpy(static_cast<void*>(digests_.data()), bytes.data() + header.digests_offset, digests_.size() * sizeof(Digest));
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].data = plan_.find_in_place(i, data_);
  return {};
}

Result<Weights> Weights::read(std::span<const uint8_t> bytes) {
  Weights weights;
  TIFFIN_TRY(weights.parse(bytes));
  return weights;
}

ParamSource Weights::source() const {
  const auto read = [](void* context, size_t index, std::span<uint8_t> out) -> Status {
    const auto& weights = *static_cast<const Weights*>(context);
    return weights.plan_.restore_parameter(index, weights.data_, out);
  };
  return {entries_.span(), read, const_cast<Weights*>(this)};
}

WeightsLayout weights_layout(const StoragePlan& plan) {
  WeightsLayout layout;
  layout.plan_offset = sizeof(tiffin_weights_header);
  layout.digests_offset = align_up(layout.plan_offset + plan.bytes().size(), kPartAlignment);
  layout.data_offset = align_up(layout.digests_offset + plan.parameter_count() * TIFFIN_DIGEST_BYTES, TIFFIN_PAGE_BYTES);
  layout.data_length = plan.data_bytes();
  layout.total_length = layout.data_offset + layout.data_length;
  return layout;
}

Result<Array<Digest>> parameter_digests(const StoragePlan& plan, const ParameterReader& reader) {
  Array<Digest> digests;
  Array<uint8_t> scratch;
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    const ParamEntry& parameter = plan.parameters()[i];
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, reader.read(reader.context, i, scratch));
    if (!digests.append(tensor_digest(parameter.dtype, parameter.shape, bytes))) return error(Code::OutOfMemory, "no memory for digests");
  }
  return digests;
}

Status write_weights(const StoragePlan& plan, std::span<const Digest> digests, const ParameterReader& reader, const ByteSink& sink) {
  if (digests.size() != plan.parameter_count())
    return error(Code::Internal, "%zu digests for %zu parameters", digests.size(), plan.parameter_count());
  const WeightsLayout layout = weights_layout(plan);
  tiffin_weights_header header = {};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format_major = TIFFIN_FORMAT_MAJOR;
  header.format_minor = TIFFIN_FORMAT_MINOR;
  header.plan_offset = layout.plan_offset;
  header.plan_length = plan.bytes().size();
  memcpy(header.plan_digest, plan.digest().bytes.data(), TIFFIN_DIGEST_BYTES);
  header.digests_offset = layout.digests_offset;
  header.parameter_count = plan.parameter_count();
  header.data_offset = layout.data_offset;
  header.data_length = layout.data_length;
  header.total_length = layout.total_length;
  TIFFIN_TRY(sink.write({reinterpret_cast<const uint8_t*>(&header), sizeof(header)}));
  TIFFIN_TRY(sink.write(plan.bytes()));
  TIFFIN_TRY(sink.write_zeros(layout.digests_offset - layout.plan_offset - plan.bytes().size()));
  for (const Digest& digest : digests) TIFFIN_TRY(sink.write(digest.bytes));
  TIFFIN_TRY(sink.write_zeros(layout.data_offset - layout.digests_offset - digests.size_bytes()));

  Array<uint8_t> scratch;
  uint64_t done = 0;
  for (const uint32_t index : plan.order_) {
    const abi::Stored& stored = *plan.table().stored()->Get(index);
    if (stored.bytes() == 0) continue;
    TIFFIN_TRY(sink.write_zeros(stored.offset() - done));
    TIFFIN_TRY(plan.write_stored(index, reader, scratch, sink));
    done = stored.offset() + stored.bytes();
  }
  return sink.write_zeros(plan.data_bytes() - done);
}

}  // namespace tiffin::params
