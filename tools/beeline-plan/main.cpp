// SPDX-License-Identifier: BSD-3-Clause
// beeline-plan: proves the schedules of collectives, and shows which one runs and what it does.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tools/beeline-plan/plan.hpp"

namespace beeline::tool {
namespace {

void add_show(CLI::App& app, ShowOptions& options) {
    app.add_option("collective", options.collective, "MPI's name in lower case, as allreduce")
        ->required();
    app.add_option("--ranks", options.ranks, "Ranks of the communicator")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--bytes", options.bytes,
                   "Length of the vector, or of each block: 65536, 64K, 1M")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--algorithm", options.algorithm, "This one, whatever would be chosen");
    app.add_option("--rank", options.rank, "Whose steps to print; -1 for all")
        ->capture_default_str();
    app.add_option("--root", options.root, "Root rank")->capture_default_str();
    app.add_option("--slices", options.slices, "Pieces of a block, for those that pipeline")
        ->check(CLI::Range(1, 4096));
    app.add_option("--nodes", options.nodes, "Ranks on each node, as 4,4,3")->delimiter(',');
    app.add_flag("--in-place", options.in_place, "The contribution is in the output");
    app.add_flag("!--not-commutative", options.commutative, "The operation does not commute");
    app.add_flag("--unrolled", options.unrolled, "Print every step, loops as well");
    app.add_option("--memory", options.memory, "device or host: whose rates count inside a node")
        ->check(CLI::IsMember({"device", "host"}))
        ->capture_default_str();
    app.add_option("--tuning", options.tuning, "Rates and rules of a machine (docs/tuning.md)");
    app.add_option("--schedules", options.schedules,
                   "Files of schedules that a job would load, separated by commas");
    app.add_option("--svg", options.svg, "Draw the schedule into this file");
    app.add_option("--json", options.json, "Write the schedules of all ranks into this file");
    app.add_option("--name", options.name, "Their name in that file, by which a job knows them");
}

int run(int argc, char** argv) {
    CLI::App app("Proves and shows the schedules of collectives.");
    app.require_subcommand(1);

    VerifyOptions verify_options;
    CLI::App* verify_command = app.add_subcommand("verify", "Prove all algorithms");
    verify_command->add_flag("--quick", verify_options.quick, "Fewer and smaller worlds");
    verify_command->add_option("--collective", verify_options.collective, "This one only");
    verify_command->add_option("--algorithm", verify_options.algorithm, "Those of this name only");

    std::string listed;
    CLI::App* list_command = app.add_subcommand("list", "Name all algorithms");
    list_command->add_option("collective", listed, "Those of this one only");

    ShowOptions show_options;
    CLI::App* show_command =
        app.add_subcommand("show", "Show the candidates, the choice, its steps and a picture");
    add_show(*show_command, show_options);

    CheckOptions check_options;
    CLI::App* check_command =
        app.add_subcommand("check", "Prove the schedules in a file: JSON, or MSCCL's XML");
    check_command
        ->add_option("file", check_options.file,
                     "What show --json wrote, or something like it, or an MSCCL algorithm")
        ->required();
    check_command->add_option("--json", check_options.json, "Write them into this file");
    check_command->add_option("--name", check_options.name,
                              "Their name in that file, by which a job knows them");
    check_command->add_option("--svg", check_options.svg, "Draw them into this file");
    check_command->add_option("--bytes", check_options.bytes, "Length, for the picture")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    }
    if (verify_command->parsed()) {
        return verify(verify_options);
    }
    if (list_command->parsed()) {
        return list(listed);
    }
    return show_command->parsed() ? show(show_options) : check(check_options);
}

}  // namespace
}  // namespace beeline::tool

int main(int argc, char** argv) {
    try {
        return beeline::tool::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "beeline-plan: %s\n", error.what());
        return 2;
    }
}
