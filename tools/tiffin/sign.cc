// SPDX-License-Identifier: Apache-2.0
// `tiffin keys new` and `tiffin sign`.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "base/ed25519/key_file.h"
#include "compiler/driver/creation_time.h"
#include "tools/commands/interruption.h"
#include "tools/commands/json_output.h"
#include "tools/commands/signature.h"
#include "tools/tiffin/parse_words.h"
#include "tools/tiffin/sign_artifact.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

struct KeyWords {
  std::string name;
  bool json = false, quiet = false;
};

struct SignWords {
  std::string file, key;
  uint64_t release = 0;
  bool json = false, quiet = false;
};

// A file that was not there before, removed again unless it is kept. A key is never overwritten: what it signed could not be signed again.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    if (!is_kept_) unlink(path_.c_str());
  }

  Status create(const std::string& path, mode_t mode) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ >= 0) {
      path_ = path;
      return {};
    }
    Status status = error(Code::Io, "cannot make '%s': %s", path.c_str(), strerror(errno));
    return errno == EEXIST ? std::move(status).with_remedy("choose another name, or move the old key away: it is not overwritten")
                           : std::move(status);
  }

  Status write(const char* text) {
    size_t length = strlen(text);
    while (length > 0) {
      const ssize_t written = ::write(descriptor_, text, length);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return error(Code::Io, "cannot write '%s': %s", path_.c_str(), strerror(written < 0 ? errno : ENOSPC));
      text += written;
      length -= static_cast<size_t>(written);
    }
    if (fsync(descriptor_) != 0 && errno != EINVAL) return error(Code::Io, "cannot write '%s': %s", path_.c_str(), strerror(errno));
    return {};
  }

  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool is_kept_ = false;
};

// Two files of a few lines: an interruption waits until both are there.
class Uninterrupted {
 public:
  Uninterrupted() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

Status make_keys(const KeyWords& words) {
  const std::string secret_path = words.name + ".secret", public_path = words.name + ".public";
  TIFFIN_TRY(require_signatures());
  TIFFIN_ASSIGN_OR_RETURN(const SecretKey secret, make_secret_key());
  TIFFIN_ASSIGN_OR_RETURN(const PublicKey shown, public_key_of(secret));
  const Uninterrupted uninterrupted;
  NewFile secret_file, public_file;
  TIFFIN_TRY(secret_file.create(secret_path, 0600));
  TIFFIN_TRY(public_file.create(public_path, 0644));
  TIFFIN_TRY(secret_file.write(to_text(secret).text));
  TIFFIN_TRY(public_file.write(to_text(shown).text));
  secret_file.keep();
  public_file.keep();
  const KeyDigits digits = to_digits(shown);
  if (words.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"secret", secret_path}, {"public", public_path}, {"public_key", std::string(digits.text)}}.dump(
                           -1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!words.quiet) {
    fmt::print("{}: the secret key, for 'tiffin sign' alone\n{}: the public key, for all who check\n", secret_path, public_path);
  }
  return flush_output();
}

Status sign_file(const SignWords& words) {
  TIFFIN_TRY(require_signatures());
  Interruption interruption;
  TIFFIN_TRY(interruption.add_output(words.file.c_str()));
  interruption.start(words.json);
  TIFFIN_ASSIGN_OR_RETURN(const SecretKey key, read_secret_key(words.key.c_str()));
  const Signing signing{driver::creation_time().value_or(time(nullptr)), words.release};
  TIFFIN_ASSIGN_OR_RETURN(const tiffin_signature signature, sign_artifact(words.file, key, signing));
  if (words.json) {
    JsonOutput out(stdout);
    out.begin_object();
    out.text("path", words.file);
    write_signature(out, {signature}, false);
    out.end_object();
    return out.finish();
  }
  if (!words.quiet) fmt::print("{}: signed, {}\n", words.file, signature_text(signature).text);
  return flush_output();
}

}  // namespace

int keys_command(int count, char** words) {
  KeyWords parsed;
  CLI::App app("Makes a pair of keys for signatures: NAME.secret and NAME.public.", "tiffin keys");
  app.set_help_flag("-h,--help", "show this text");
  app.require_subcommand(1);
  CLI::App* make = app.add_subcommand("new", "make NAME.secret, which its owner alone can read, and NAME.public");
  make->set_help_flag("-h,--help", "show this text");
  make->add_option("NAME", parsed.name, "path without suffix")->required();
  make->add_flag("--json", parsed.json, "print one JSON object");
  make->add_flag("--quiet", parsed.quiet, "print nothing");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  return exit_status(make_keys(parsed), parsed.json);
}

int sign_command(int count, char** words) {
  SignWords parsed;
  CLI::App app("Signs an artifact in place: a .so, a bundle, or the folder of an unpacked one.", "tiffin sign");
  app.set_help_flag("-h,--help", "show this text");
  app.add_option("FILE", parsed.file, "the artifact; a signature that it has is replaced")->required();
  app.add_option("--key", parsed.key, "the secret key that 'tiffin keys new' or OpenSSL made")->required();
  app.add_option("--release", parsed.release, "number that users can set a lower limit for (--min-release); default 0")
      ->check(CLI::Range(uint64_t{0}, uint64_t{INT64_MAX}));
  app.add_flag("--json", parsed.json, "print one JSON object");
  app.add_flag("--quiet", parsed.quiet, "print nothing");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  return exit_status(sign_file(parsed), parsed.json);
}

}  // namespace tiffin::tools
