// SPDX-License-Identifier: BSD-3-Clause
// Parsing of tuning files.
#include "coll/select/tuning.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace beeline::coll::select {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr int kMostSlices = 4096;

/// The next word of `line`, which loses it.
std::string_view take_word(std::string_view& line) noexcept {
    const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(kBlank));
    line.remove_prefix(word.size());
    return word;
}

/// A whole number; with K, M or G for powers of 1024 when `suffixes`.
bool parse_number(std::string_view text, bool suffixes, std::uint64_t& value) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error != std::errc{} || rest.size() > 1) {
        return false;
    }
    if (rest.empty()) {
        return true;
    }
    const std::size_t place = std::string_view("KMG").find(rest[0]);
    if (!suffixes || place == std::string_view::npos) {
        return false;
    }
    const std::size_t shift = 10 * (place + 1);
    if (value > (UINT64_MAX >> shift)) {
        return false;
    }
    value <<= shift;
    return true;
}

/// "8", "2-8" or "2-" (and above).
bool parse_range(std::string_view text, bool suffixes, Range& range) noexcept {
    const std::size_t dash = text.find('-');
    Range read;
    if (!parse_number(text.substr(0, dash), suffixes, read.least)) {
        return false;
    }
    if (dash == std::string_view::npos) {
        read.greatest = read.least;
    } else if (dash + 1 < text.size() &&
               !parse_number(text.substr(dash + 1), suffixes, read.greatest)) {
        return false;
    }
    range = read;
    return read.least <= read.greatest;
}

/// A number above zero and below a million, of whichever unit.
bool parse_rate(std::string_view text, double& value) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value) &&
           value > 0 && value < 1e6;
}

/// Reads one file, line by line, until something is wrong.
class Parser {
 public:
    Parser(std::string_view file, Tuning& tuning) : file_(file), tuning_(tuning) {}

    std::string run(std::string_view text) {
        bool headed = false;
        while (!text.empty() && problem_.empty()) {
            ++line_;
            const std::size_t end = text.find('\n');
            std::string_view line = text.substr(0, end);
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
            line = line.substr(0, line.find('#'));
            const std::string_view word = take_word(line);
            if (word.empty()) {
                continue;
            }
            if (!headed) {
                headed = true;
                const std::string_view version = take_word(line);
                if (word != "beeline-tuning" || version != "1" || !take_word(line).empty()) {
                    refuse("first line", word, "beeline-tuning 1");
                }
            } else {
                statement(word, line);
            }
        }
        if (!headed && problem_.empty()) {
            line_ = 1;
            refuse("first line", "", "beeline-tuning 1");
        }
        return problem_;
    }

 private:
    void refuse(std::string_view what, std::string_view value, std::string_view allowed) {
        if (problem_.empty()) {
            problem_.append(file_).append(":").append(std::to_string(line_)).append(": ");
            problem_.append(what).append(" '").append(value).append("' is refused; allowed: ");
            problem_.append(allowed);
        }
    }

    void statement(std::string_view word, std::string_view line) {
        if (word == "link") {
            place(line, true);
        } else if (word == "reduction") {
            place(line, false);
        } else if (word == "rule") {
            rule(line);
        } else {
            refuse("statement", word, "link, reduction, rule");
        }
    }

    /// Calls take(key, value) for each key=value of the line.
    template <class Take>
    void each(std::string_view line, Take&& take) {
        for (std::string_view word = take_word(line); !word.empty() && problem_.empty();
             word = take_word(line)) {
            const std::size_t equals = word.find('=');
            if (equals == std::string_view::npos) {
                refuse("word", word, "key=value");
                return;
            }
            take(word.substr(0, equals), word.substr(equals + 1));
        }
    }

    void place(std::string_view line, bool is_link) {
        std::string_view name;
        double alpha = 0;
        double bandwidth = 0;
        each(line, [&](std::string_view key, std::string_view value) {
            if (key == "class") {
                name = value;
            } else if (key == "alpha" && is_link) {
                if (!parse_rate(value, alpha)) {
                    refuse("alpha", value, "microseconds above 0, below 1000000");
                }
            } else if (key == "bandwidth") {
                if (!parse_rate(value, bandwidth)) {
                    refuse("bandwidth", value, "GB/s above 0, below 1000000");
                }
            } else {
                refuse("key", key, is_link ? "class, alpha, bandwidth" : "class, bandwidth");
            }
        });
        Link* apart = !is_link            ? nullptr
                      : name == "across"  ? &tuning_.model.across
                      : name == "staging" ? &tuning_.model.staging
                                          : nullptr;
        if (name != "device" && name != "host" && apart == nullptr) {
            refuse("class", name, is_link ? "device, host, across, staging" : "device, host");
        }
        if (bandwidth == 0 && problem_.empty()) {
            refuse("bandwidth", "", "GB/s above 0, below 1000000");
        }
        if (!problem_.empty()) {
            return;
        }
        Place& inside = name == "host" ? tuning_.model.host : tuning_.model.device;
        const double beta = 1 / (bandwidth * 1e9);
        if (!is_link) {
            inside.gamma = beta;
            return;
        }
        Link& link = apart != nullptr ? *apart : inside.link;
        link.beta = beta;
        if (alpha > 0) {
            link.alpha = alpha * 1e-6;
        }
    }

    void rule(std::string_view line) {
        Rule made;
        made.line = line_;
        std::string_view collective;
        std::string_view algorithm;
        each(line, [&](std::string_view key, std::string_view value) {
            std::uint64_t number = 0;
            if (key == "collective") {
                collective = value;
            } else if (key == "algorithm") {
                algorithm = value;
            } else if (key == "ranks" || key == "nodes") {
                if (!parse_range(value, false, key == "ranks" ? made.ranks : made.nodes)) {
                    refuse(key, value, "N, N-M or N-");
                }
            } else if (key == "bytes") {
                if (!parse_range(value, true, made.bytes)) {
                    refuse(key, value, "N, N-M or N-, with K, M, G");
                }
            } else if (key == "slices") {
                if (!parse_number(value, false, number) || number < 1 || number > kMostSlices) {
                    refuse(key, value, "1 to 4096");
                }
                made.slices = static_cast<int>(number);
            } else {
                refuse("key", key, "collective, ranks, nodes, bytes, algorithm, slices");
            }
        });
        plan::Collective which{};
        if (!plan::find(collective, which)) {
            std::string names;
            for (int number = 0; number < plan::kCollectives; ++number) {
                names += number == 0 ? "" : ", ";
                names += plan::to_string(static_cast<plan::Collective>(number));
            }
            refuse("collective", collective, names);
            return;
        }
        made.collective = which;
        made.algorithm = find(which, algorithm, tuning_);
        if (made.algorithm == nullptr && algorithm != "staged") {
            std::string names = "staged";
            for (const plan::Algorithm* one : plan::algorithms(which)) {
                names.append(", ").append(one->name);
            }
            for (const plan::Algorithm* one : tuning_.loaded) {
                if (one->collective == which) {
                    names.append(", ").append(one->name);
                }
            }
            refuse("algorithm", algorithm, names);
            return;
        }
        tuning_.rules.push_back(made);
    }

    std::string_view file_;
    Tuning& tuning_;
    std::string problem_;
    int line_ = 0;
};

/// FNV-1a of G. Fowler, L. C. Noll and K.-P. Vo.
class Hash {
 public:
    void add(std::uint64_t word) noexcept {
        for (int byte = 0; byte < 8; ++byte, word >>= 8) {
            value_ = (value_ ^ (word & 0xff)) * 0x100000001b3ULL;
        }
    }
    void add(double value) noexcept { add(std::bit_cast<std::uint64_t>(value)); }
    void add(const Link& link) noexcept {
        add(link.alpha);
        add(link.beta);
    }
    void add(const Range& range) noexcept {
        add(range.least);
        add(range.greatest);
    }
    void add(const char* text) noexcept {
        for (; *text != '\0'; ++text) {
            add(static_cast<std::uint64_t>(static_cast<unsigned char>(*text)));
        }
        add(std::uint64_t{0});
    }
    std::uint64_t value() const noexcept { return value_; }

 private:
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::string parse(std::string_view text, std::string_view file, Tuning& tuning) {
    Tuning read;
    read.loaded = tuning.loaded;
    read.loaded_hash = tuning.loaded_hash;
    std::string problem = Parser(file, read).run(text);
    if (problem.empty()) {
        tuning = std::move(read);
    }
    return problem;
}

const plan::Algorithm* find(plan::Collective collective, std::string_view name,
                            const Tuning& tuning) noexcept {
    const plan::Algorithm* found = plan::find(collective, name);
    for (const plan::Algorithm* loaded : tuning.loaded) {
        if (found == nullptr && loaded->collective == collective && name == loaded->name) {
            found = loaded;
        }
    }
    return found;
}

std::string read_file(const char* file, std::size_t longest, std::string& text) {
    constexpr std::size_t kStep = std::size_t{1} << 20;
    const auto close = [](std::FILE* stream) { std::fclose(stream); };
    const std::unique_ptr<std::FILE, decltype(close)> stream(std::fopen(file, "re"), close);
    if (stream == nullptr) {
        return std::string(file) + ": " + std::strerror(errno);
    }
    text.clear();
    for (std::size_t got = 1; got > 0 && text.size() <= longest;) {
        const std::size_t before = text.size();
        text.resize(before + kStep);
        got = std::fread(text.data() + before, 1, kStep, stream.get());
        text.resize(before + got);
    }
    if (std::ferror(stream.get()) != 0) {
        return std::string(file) + ": cannot be read";
    }
    if (text.size() > longest) {
        return std::string(file) + ": longer than " + std::to_string(longest / kStep) + " MiB";
    }
    return {};
}

std::string load(const char* file, Tuning& tuning) {
    std::string text;
    std::string problem = read_file(file, kLongestTuningFile, text);
    return problem.empty() ? parse(text, file, tuning) : problem;
}

std::uint64_t fingerprint(const Tuning& tuning, const config::Params& params) noexcept {
    Hash hash;
    const Model& model = tuning.model;
    for (const Place* place : {&model.device, &model.host}) {
        hash.add(place->link);
        hash.add(place->gamma);
    }
    hash.add(model.across);
    hash.add(model.staging);
    for (const Rule& rule : tuning.rules) {
        hash.add(static_cast<std::uint64_t>(rule.collective));
        hash.add(rule.algorithm == nullptr ? "staged" : rule.algorithm->name);
        for (const Range* range : {&rule.ranks, &rule.nodes, &rule.bytes}) {
            hash.add(*range);
        }
        hash.add(static_cast<std::uint64_t>(rule.slices));
    }
    hash.add(tuning.loaded_hash);
    for (const config::Row& row : config::rows()) {
        const std::string_view name = row.name;
        if (std::strcmp(row.component, "coll") == 0 &&
            (name.ends_with("_algorithm") || name == "memory" || name == "reproducible" ||
             name.starts_with("fused"))) {
            char text[64];
            hash.add(config::print(params, row, text));
        }
    }
    return hash.value();
}

Tuning& tuning() noexcept {
    static Tuning own;
    return own;
}

Settings own_settings() noexcept {
    return {&config::params(), &tuning()};
}

Settings built_in_settings() noexcept {
    static const config::Params params;
    static const Tuning built_in;
    return {&params, &built_in};
}

}  // namespace beeline::coll::select
