// SPDX-License-Identifier: BSD-3-Clause
// Schedules as SVG.
#include "coll/plan/draw.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <tuple>

namespace beeline::coll::plan {
namespace {

constexpr double kLeft = 70;
constexpr double kTop = 54;
constexpr double kWidth = 1000;
constexpr double kRow = 36;
constexpr double kBand = 9;

const char* color(OpKind kind) noexcept {
    switch (kind) {
        case OpKind::kSend:
            return "#4477aa";
        case OpKind::kReceive:
            return "#66ccee";
        case OpKind::kCopy:
            return "#ccbb44";
        case OpKind::kReduce:
        case OpKind::kReceiveReduce:
            return "#ee6677";
    }
    return "#bbbbbb";
}

int band(OpKind kind) noexcept {
    return kind == OpKind::kSend ? 0 : is_message(kind) ? 1 : 2;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '&') {
            out += "&amp;";
        } else {
            out += c;
        }
    }
    return out;
}

class Picture {
 public:
    Picture(std::span<const Schedule> world, const Timeline& timeline)
        : world_(world), timeline_(timeline), scale_(kWidth / std::max(timeline.end, 1e-12)) {}

    std::string draw(const std::string& title) {
        frame(title);
        rows();
        lines();
        out_ += "</svg>\n";
        return std::move(out_);
    }

 private:
    template <class... Values>
    void add(const char* format, Values... values) {
        char text[400];
        std::snprintf(text, sizeof text, format, values...);
        out_ += text;
    }

    double x(double time) const noexcept { return kLeft + time * scale_; }
    static double row(std::size_t rank) noexcept { return kTop + static_cast<double>(rank) * kRow; }
    static double middle(std::size_t rank, OpKind kind) noexcept {
        return row(rank) + (band(kind) + 0.5) * (kBand + 1);
    }

    void frame(const std::string& title) {
        const double height = row(world_.size()) + 40;
        add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n",
            kLeft + kWidth + 30, height);
        add("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
        out_ += "<text x=\"" + std::to_string(static_cast<int>(kLeft)) +
                "\" y=\"20\" font-size=\"15\">" + escaped(title) + "</text>\n";
        double at = kLeft;
        for (const OpKind kind :
             {OpKind::kSend, OpKind::kReceive, OpKind::kCopy, OpKind::kReduce}) {
            add("<rect x=\"%.0f\" y=\"30\" width=\"12\" height=\"10\" fill=\"%s\"/>"
                "<text x=\"%.0f\" y=\"40\">%s</text>\n",
                at, color(kind), at + 16, to_string(kind));
            at += 90;
        }
        for (int tick = 0; tick <= 10; ++tick) {
            const double time = timeline_.end * tick / 10;
            add("<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#dddddd\"/>"
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.4g</text>\n",
                x(time), kTop, x(time), row(world_.size()), x(time), row(world_.size()) + 16,
                time * 1e6);
        }
        add("<text x=\"%.0f\" y=\"%.0f\">us</text>\n", kLeft + kWidth + 8, row(world_.size()) + 32);
    }

    void rows() {
        for (std::size_t rank = 0; rank < world_.size(); ++rank) {
            add("<text x=\"8\" y=\"%.0f\">rank %zu</text>\n", row(rank) + 20, rank);
            for (std::size_t op = 0; op < world_[rank].ops.size(); ++op) {
                const OpKind kind = world_[rank].ops[op].kind;
                const Interval& when = timeline_.ops[rank][op];
                add("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\" "
                    "stroke=\"white\" stroke-width=\"0.5\"><title>op %zu: %s</title></rect>\n",
                    x(when.begin), row(rank) + band(kind) * (kBand + 1),
                    std::max(1.0, (when.end - when.begin) * scale_), kBand, color(kind), op,
                    to_string(kind));
            }
        }
    }

    void lines() {
        std::map<std::tuple<int, int, int>, std::deque<std::size_t>> sends;
        std::size_t messages = 0;
        for (std::size_t rank = 0; rank < world_.size(); ++rank) {
            for (std::size_t op = 0; op < world_[rank].ops.size(); ++op) {
                const Op& send = world_[rank].ops[op];
                if (send.kind == OpKind::kSend) {
                    sends[{static_cast<int>(rank), send.peer, send.channel}].push_back(op);
                    ++messages;
                }
            }
        }
        if (messages > kMostLines) {
            return;
        }
        for (std::size_t rank = 0; rank < world_.size(); ++rank) {
            for (std::size_t op = 0; op < world_[rank].ops.size(); ++op) {
                const Op& receive = world_[rank].ops[op];
                if (!is_message(receive.kind) || receive.kind == OpKind::kSend) {
                    continue;
                }
                auto& lane = sends[{receive.peer, static_cast<int>(rank), receive.channel}];
                if (lane.empty()) {
                    continue;
                }
                const auto from = static_cast<std::size_t>(receive.peer);
                const std::size_t send = lane.front();
                lane.pop_front();
                add("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#777777\" "
                    "stroke-width=\"0.7\" opacity=\"0.6\"/>\n",
                    x(timeline_.ops[from][send].begin), middle(from, OpKind::kSend),
                    x(timeline_.ops[rank][op].end), middle(rank, receive.kind));
            }
        }
    }

    std::span<const Schedule> world_;
    const Timeline& timeline_;
    double scale_;
    std::string out_;
};

}  // namespace

std::string draw(std::span<const Schedule> world, const Timeline& timeline,
                 const std::string& title) {
    return Picture(world, timeline).draw(title);
}

}  // namespace beeline::coll::plan
